"""The admin's own pages: they show, and change nothing but hosts and memberships, for superusers alone."""

import json

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.models import ReviewCase
from config.demo.people import set_up_people
from ledger.admin import ReadOnlyAdmin
from ledger.models import (
    Customer,
    ErasableText,
    Heartbeat,
    Merchant,
    Order,
    SettlementFile,
    StaffMembership,
    Switch,
    Tally,
)
from ledger.relay import relay_audit_events
from notifications.models import Notification
from refunds.evidence.webhooks import keep_event
from refunds.gateways.stripe_events import read_event
from refunds.models import BookComparison, GatewayWebhook, RefundOperation, RefundWorkflow
from refunds.states import OperationState, WorkflowState
from tests.console.conftest import superuser
from tests.factories import (
    NOW,
    add_check,
    latest_approval,
    make_duplicate_order,
    make_house_text,
    make_merchant,
    make_reading,
    make_staff,
    make_user,
    operation_in_state,
    qualify_model,
    workflow_in_state,
)
from tests.webhooks.signed import event

pytestmark = pytest.mark.django_db
OURS = {"ledger", "approvals", "notifications", "policies", "refunds"}


class Sink:
    def write(self, events):
        pass


def registered():
    return sorted(
        (model for model in admin.site._registry if model._meta.app_label in OURS),
        key=lambda m: m._meta.label,
    )


def read_only():
    return [model for model in registered() if isinstance(admin.site._registry[model], ReadOnlyAdmin)]


def address(model, page="changelist", *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def make_rows(times=1):
    """One finished and one waiting story with a row for every table."""
    for _ in range(times):
        operation = operation_in_state(OperationState.COMPLETED)
        add_check(operation)
        make_reading(operation.workflow)
        message = Notification.objects.create(
            logical_event_id=f"refund.completed:{operation.pk}",
            customer=operation.workflow.customer,
            subject_id=operation.workflow_id,
            facts={},
            created_at=NOW,
        )
        message.attempts.create(number=1, channel="email", outcome="DELIVERED", message_id="1", at=NOW)
        workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL)
        make_staff(merchant=operation.merchant)
        make_house_text(merchant=operation.merchant)
        make_books(operation)
        qualify_model(base_url="https://models.example.com/v1")
        Heartbeat.record(f"job{Heartbeat.objects.count()}", now=NOW)
        Switch.objects.create(
            name=f"switch{Switch.objects.count()}", is_on=True, changed_by="user:1", changed_at=NOW
        )
        Tally.add(f"tally{Tally.objects.count()}")
        text = ErasableText.keep("They have no refund.", now=NOW)
        latest_approval(operation.workflow).attachments.create(
            number=1, kind="REPORT", facts={}, text=text, sha256=text.sha256, attached_by="user:1", at=NOW
        )
        body = json.dumps(event(operation, id=f"evt_{GatewayWebhook.objects.count()}"))
        keep_event(read_event(body.encode()), provider="stripe", body=body, now=NOW)
    relay_audit_events(now=NOW, limit=1000, sink=Sink())


def make_books(operation):
    """Leave a settlement report with one line, and a comparison with one difference."""
    file = SettlementFile.objects.create(
        merchant=operation.merchant, report="PAYOUT", sha256=operation.pk, rows=1, imported_at=NOW
    )
    file.settlements.create(
        merchant=operation.merchant, report="PAYOUT", row_reference=operation.pk, category="REFUND",
        processor_reference="re_1", amount_minor_units=1, currency="USD", settled_minor_units=1,
        settled_currency="USD", booked_at=NOW, imported_at=NOW,
    )  # fmt: skip
    comparison = BookComparison.objects.create(
        merchant=operation.merchant, books_of=NOW.date(), counts={}, payments=1, asked=0, unread=0, not_asked=0,
        foreign=0, started_at=NOW, finished_at=NOW,
    )  # fmt: skip
    comparison.differences.create(
        kind="MISSING_OURS", subject_id="books:1", facts={}, facts_sha256="0", at=NOW
    )


@pytest.fixture
def root(client):
    client.force_login(superuser())
    return client


def test_every_model_but_personal_words_is_registered():
    ours = {m for m in apps.get_models() if m._meta.app_label in OURS and not m._meta.proxy}
    shown = set(registered())
    missing = {model.__name__ for model in ours - shown}
    assert missing == {"ErasableText", "NotificationAttempt"}  # the latter stands below its message


def test_all_but_memberships_are_read_only_and_offer_no_action():
    assert set(registered()) - set(read_only()) == {StaffMembership}
    for model in registered():
        assert admin.site._registry[model].actions is None, model


def test_every_list_opens_with_the_same_number_of_queries_however_many_rows(root):
    counts = {}
    for rows in (1, 3):
        make_rows(rows)
        for model in registered():
            with CaptureQueriesContext(connection) as seen:
                assert root.get(address(model)).status_code == 200, model
            counts.setdefault(model, []).append(len(seen))
    assert {model.__name__: n for model, n in counts.items() if len(set(n)) > 1} == {}
    assert max(n for few in counts.values() for n in few) <= 7


def test_every_row_opens(root):
    make_rows()
    for model in registered():
        row = model._default_manager.first()
        assert row is not None, model
        assert root.get(address(model, "change", row.pk)).status_code == 200, model


@pytest.mark.failure("F113")
def test_adding_changing_and_deleting_are_refused_even_to_a_superuser(root):
    make_rows()
    for model in read_only():
        row = model._default_manager.first()
        before = list(model._default_manager.order_by("pk").values())
        assert root.get(address(model, "add")).status_code == 403, model
        assert root.post(address(model, "add"), {}).status_code == 403, model
        assert root.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403, model
        if model is not Merchant:
            assert root.post(address(model, "change", row.pk), {"state": "COMPLETED"}).status_code == 403, (
                model
            )
        assert list(model._default_manager.order_by("pk").values()) == before, model


@pytest.mark.failure("F113")
@pytest.mark.parametrize("action", ["delete_selected", "approve", "reject", ""])
def test_actions_posted_to_a_list_are_refused(root, action):
    make_rows()
    for model in read_only():
        row = model._default_manager.first()
        answer = root.post(address(model), {"action": action, "_selected_action": [row.pk], "index": "0"})
        assert answer.status_code == 403, model
        assert model._default_manager.filter(pk=row.pk).exists()


def test_a_request_and_an_operation_link_to_their_case(root):
    workflow = workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL)
    operation = operation_in_state(OperationState.MANUAL_REVIEW)
    for model, subject in ((RefundWorkflow, workflow.pk), (RefundOperation, operation.workflow_id)):
        ticket = ReviewCase.objects.get(subject_id=subject, closed_at__isnull=True).ticket
        assert f'<a href="/admin/review/{ticket}/">#{ticket}</a>' in root.get(address(model)).text


def test_the_words_of_customers_and_models_are_not_shown(root):
    order = make_duplicate_order().order
    workflow = workflow_in_state(WorkflowState.ACTION_PROPOSED, order=order, message="call me on my number")
    drafts = [text.body for text in ErasableText.objects.all()]
    assert "call me on my number" in drafts
    for rows in (workflow.messages.all(), workflow.proposals.all()):
        for row in rows:
            for page in (address(rows.model), address(rows.model, "change", row.pk)):
                shown = root.get(page).text
                assert [words for words in drafts if words in shown] == []


def viewer_of(merchant, *models):
    user = make_staff(merchant=merchant, can_approve=False)
    for model in models:
        user.user_permissions.add(
            Permission.objects.get(
                codename=f"view_{model._meta.model_name}", content_type__app_label=model._meta.app_label
            )
        )
    return user


@pytest.mark.failure("F099")
def test_staff_see_the_rows_of_their_own_merchants_only(client):
    make_rows()
    mine = operation_in_state(OperationState.COMPLETED)
    shown = [m for m in read_only() if admin.site._registry[m].merchant_path]
    client.force_login(viewer_of(mine.merchant, *shown))
    for model in shown:
        model_admin = admin.site._registry[model]
        path = model_admin.merchant_path
        own = set(model._default_manager.filter(**{path: mine.merchant_id}).values_list("pk", flat=True))
        foreign = model._default_manager.exclude(**{path: mine.merchant_id}).first()
        page = client.get(address(model))
        assert page.status_code == 200, model
        assert set(page.context["cl"].queryset.values_list("pk", flat=True)) == own, model
        if foreign is not None:
            unknown = client.get(address(model, "change", foreign.pk))
            assert (unknown.status_code, unknown["Location"]) == (302, reverse("admin:index")), model


def test_staff_see_no_rows_that_belong_to_no_merchant(client):
    make_rows()
    shown = [m for m in read_only() if not admin.site._registry[m].merchant_path]
    client.force_login(viewer_of(make_merchant(), *shown))
    for model in shown:
        assert list(client.get(address(model)).context["cl"].queryset) == [], model


def test_staff_without_a_permission_see_no_list(client):
    client.force_login(make_staff(merchant=make_merchant()))
    for model in registered():
        assert client.get(address(model)).status_code == 403, model


def test_a_superuser_sets_a_merchants_host_and_nothing_else_of_it(root):
    merchant = make_merchant(code="northwind", name="Northwind")
    answer = root.post(
        address(Merchant, "change", merchant.pk),
        {"host": " Shop.Example.COM ", "name": "Other", "code": "other"},
    )
    assert answer.status_code == 302
    merchant.refresh_from_db()
    assert (merchant.host, merchant.name, merchant.code) == ("shop.example.com", "Northwind", "northwind")


def test_two_merchants_cannot_have_one_host(root):
    make_merchant(host="shop.example.com")
    merchant = make_merchant()
    answer = root.post(address(Merchant, "change", merchant.pk), {"host": "shop.example.com"})
    assert answer.status_code == 200
    merchant.refresh_from_db()
    assert merchant.host == ""


def test_only_superusers_change_memberships_and_hosts(client):
    merchant = make_merchant()
    member = viewer_of(merchant, Merchant, StaffMembership)
    membership = StaffMembership.objects.get(user=member)
    for action in ("add", "change", "delete"):
        member.user_permissions.add(
            *Permission.objects.filter(codename__in=[f"{action}_staffmembership", f"{action}_merchant"])
        )
    client.force_login(member)
    granted = {"user": member.pk, "merchant": merchant.pk, "can_approve": "on"}
    assert client.post(address(StaffMembership, "change", membership.pk), granted).status_code == 403
    assert client.post(address(StaffMembership, "add"), granted).status_code == 403
    assert client.post(address(Merchant, "change", merchant.pk), {"host": "mine.example"}).status_code == 403
    membership.refresh_from_db()
    assert membership.can_approve is False


def test_a_superuser_adds_changes_and_ends_a_membership(root):
    merchant, user = make_merchant(), make_user(is_staff=True)
    root.post(address(StaffMembership, "add"), {"user": user.pk, "merchant": merchant.pk})
    membership = StaffMembership.objects.get(user=user)
    assert membership.can_approve is False
    root.post(
        address(StaffMembership, "change", membership.pk),
        {"user": user.pk, "merchant": merchant.pk, "can_approve": "on"},
    )
    membership.refresh_from_db()
    assert membership.can_approve is True
    root.post(address(StaffMembership, "delete", membership.pk), {"post": "yes"})
    assert not StaffMembership.objects.filter(user=user).exists()


@pytest.mark.parametrize(
    "query", [{"q": "abc"}, {"q": "9" * 60}, {"q": "'\"%_"}, {"e": "1"}, {"state__exact": "x"}]
)
def test_no_search_makes_a_list_fail(root, query):
    make_rows()
    for model in registered():
        assert root.get(address(model), query).status_code in {200, 302}, model


@pytest.mark.parametrize("year", ["99999", "0", "-1", "x", "9" * 40])
def test_a_year_that_no_calendar_has_leads_to_the_list_without_it(root, year):
    make_rows()
    for model, lookup in ((RefundWorkflow, "created_at"), (Order, "placed_at"), (Heartbeat, "beat_at")):
        answer = root.get(address(model), {f"{lookup}__year": year})
        assert (answer.status_code, answer["Location"]) == (302, f"{address(model)}?e=1"), model


def test_lists_are_named_in_english_and_carry_the_icon(root):
    page = root.get("/admin/").text
    for word in ("Ledger entries", "Audit outbox rows"):
        assert word in page
    for wrong in ("entrys", "outboxs"):
        assert wrong not in page
    assert '<link rel="icon" href="/static/support/icon.svg" type="image/svg+xml">' in page
    assert "support/icon.svg" in root.get(address(Order)).text


def test_naming_a_list_changes_no_migration():
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_the_demos_staff_find_their_records_in_the_admin(client):
    operation = operation_in_state(OperationState.COMPLETED)
    foreign = operation_in_state(OperationState.COMPLETED)
    for _ in range(2):
        set_up_people(merchants=[operation.merchant], now=NOW)
    viewer = get_user_model().objects.get(email=f"viewer@{operation.merchant.code}.example.com")
    assert not viewer.is_superuser
    assert {p.partition(".")[2].partition("_")[0] for p in viewer.get_all_permissions()} == {"view"}
    client.force_login(viewer)
    page = client.get("/admin/").text
    scoped = [m for m in read_only() if admin.site._registry[m].merchant_path]
    assert [m.__name__ for m in scoped if f'href="{address(m)}"' not in page] == []
    found = client.get(address(RefundOperation)).text
    assert operation.pk in found
    assert foreign.pk not in found


def test_the_admin_signs_in_through_the_one_sign_in_page(client):
    answer = client.get("/admin/login/", {"next": "/admin/"})
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/?next=%2Fadmin%2F")
    customer = make_user()
    client.force_login(customer)
    assert client.get("/admin/login/").status_code == 403


def test_the_index_leads_to_the_review_queue_and_runs_no_inline_code(root):
    page = root.get("/admin/")
    assert '<a href="/admin/review/">Review queue</a>' in page.text
    assert "style-src 'self'" in page["Content-Security-Policy"]
    for inline in (" style=", "onclick", "<style"):
        assert inline not in page.text


def test_orders_and_customers_are_found_by_their_numbers(root):
    order = make_duplicate_order().order
    make_duplicate_order()
    found = root.get(address(Order), {"q": order.number}).context["cl"].queryset
    assert [row.pk for row in found] == [order.pk]
    found = root.get(address(Customer), {"q": order.customer.reference}).context["cl"].queryset
    assert [row.pk for row in found] == [order.customer_id]
