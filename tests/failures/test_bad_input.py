"""NUL, numbers and texts that no column holds, at every address that takes one."""

import re
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from ledger.models import AuditOutbox, ErasableText, LedgerEntry, Payment
from refunds.models import RefundWorkflow
from tests.api.calls import URL, ask, post, problem_of, token_client
from tests.customer.pages import token_of
from tests.factories import make_duplicate_order, make_staff
from tests.failures.driving import executable, rewrite_refunds, send

ROOT = Path(__file__).resolve().parents[2]
HUGE = [2**31, 2**63, 10**30]
LONG = "9" * 10_000


@pytest.fixture
def order(db):
    return make_duplicate_order(number="2841").order


@pytest.fixture
def browser(client, order):
    client.force_login(order.customer.user)
    return client


@pytest.fixture
def root(client, order):
    """Somebody who may open every page: a superuser who reviews for the order's merchant."""
    staff = make_staff(merchant=order.merchant)
    get_user_model().objects.filter(pk=staff.pk).update(is_superuser=True, is_staff=True)
    client.force_login(staff)
    return client


def nothing_stored():
    return (RefundWorkflow.objects.count(), ErasableText.objects.count(), AuditOutbox.objects.count()) == (
        0,
        0,
        0,
    )


# -- NUL


@pytest.mark.failure("F136")
@pytest.mark.parametrize("field", ["message", "order", "other_order", "client_token"])
def test_a_nul_in_the_support_form_is_refused_and_stores_nothing(browser, field):
    form = {
        "message": "Twice.",
        "order": "2841",
        "other_order": "",
        "client_token": token_of(browser.get("/support/")),
    }
    if field == "other_order":
        form["order"] = ""
    response = browser.post("/support/", form | {field: form[field] + "\x00"})
    assert 400 <= response.status_code < 500
    assert nothing_stored()


@pytest.mark.failure("F136")
@pytest.mark.parametrize("field", ["login", "password"])
def test_a_nul_at_the_sign_in_is_refused(client, db, field):
    entered = {"login": "a@example.com", "password": "b"} | {field: "a\x00b"}
    assert client.post("/accounts/login/", entered).status_code in {200, 400}
    assert "_auth_user_id" not in client.session


PAGES = [
    "/admin/refunds/refundworkflow/?q={}",
    "/admin/refunds/refundworkflow/?state__exact={}",
    "/admin/refunds/refundworkflow/{}/change/",
    "/admin/refunds/refundoperation/?q={}",
    "/admin/ledger/order/?q={}",
    "/admin/ledger/order/{}/change/",
    "/admin/ledger/payment/{}/history/",
    "/admin/approvals/approvalrequest/?q={}",
    "/admin/review/?page={}",
    "/admin/review/{}/",
    "/support/requests/{}/",
    "/support/requests/?page={}",
    f"{URL}/{{}}",
    f"{URL}?page={{}}",
]


@pytest.mark.failure("F136")
@pytest.mark.parametrize("page", PAGES)
def test_a_nul_in_any_address_is_a_4xx(root, page):
    assert 400 <= root.get(page.format("%00")).status_code < 500
    assert 400 <= root.get(page.format("28%0041")).status_code < 500


@pytest.mark.failure("F139")
@pytest.mark.failure("F141")
@pytest.mark.parametrize("page", PAGES)
def test_a_number_that_no_column_holds_is_no_fault(root, page):
    for number in (*HUGE, -1, LONG[:5000]):
        assert root.get(page.format(number), follow=True).status_code < 500


@pytest.mark.failure("F139")
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_ticket_that_no_column_holds_is_not_found(client, order, decision):
    client.force_login(make_staff(merchant=order.merchant))
    for number in HUGE:
        assert client.post(f"/admin/review/{number}/{decision}/", {"fingerprint": LONG}).status_code == 404


@pytest.mark.failure("F139")
@pytest.mark.parametrize("number", HUGE)
def test_an_order_number_of_any_size_is_an_unknown_order(order, number):
    api = token_client(order.customer.user)
    assert problem_of(ask(api, order_number=str(number))) == (404, "order_not_found")
    assert problem_of(post(api, f'{{"message": "a", "order_number": {number}}}'))[0] == 422
    assert nothing_stored()


# -- amounts that are none


@pytest.mark.failure("F043")
@pytest.mark.parametrize(
    "amount", ["-500", "0", "-0", '"1e3"', "1e3", '"5,00"', "5.00", str(2**63), str(10**30)]
)
def test_an_amount_in_a_request_is_refused_or_never_read(order, amount):
    """Customers name no amounts: a member that says one is no part of a request."""
    api = token_client(order.customer.user)
    response = post(api, f'{{"message": "Twice.", "order_number": "2841", "amount_minor_units": {amount}}}')
    if response.status_code == 201:
        workflow = RefundWorkflow.objects.get()
        assert (workflow.state, workflow.amount_minor_units) == ("EVIDENCE_PENDING", None)
    else:
        assert response.status_code in {400, 422}
        assert nothing_stored()


@pytest.mark.failure("F043")
@pytest.mark.failure("F139")
@pytest.mark.parametrize(
    "amount", ["-500", "0", "-0", '"1e3"', "1e3", '"5,00"', "5.00", str(2**63), str(10**30)]
)
def test_a_ledger_file_with_an_amount_that_is_none_leaves_no_row(db, tmp_path, amount):
    document = (ROOT / "config" / "demo" / "data" / "ledger.json").read_text()
    changed = re.sub(r'"amount_minor_units": \d+', f'"amount_minor_units": {amount}', document, count=1)
    assert changed != document
    file = tmp_path / "ledger.json"
    file.write_text(changed)
    with pytest.raises((CommandError, SystemExit)):
        call_command("load_ledger", str(file), verbosity=0)
    assert (Payment.objects.count(), LedgerEntry.objects.count()) == (0, 0)


# -- texts that are too long


@pytest.mark.failure("F141")
@pytest.mark.parametrize(
    ("headers", "members", "expected"),
    [
        ({}, {"order_number": LONG}, 422),
        ({}, {"message": LONG}, 422),
        ({}, {"problem": LONG}, 422),
        ({"Idempotency-Key": "k" * 10_000}, {}, 422),
        ({"User-Agent": "u" * 10_000}, {}, 201),
        ({"traceparent": "00-" + "a" * 10_000}, {}, 201),
        ({"X-Forwarded-For": "1.1.1.1, " * 1000}, {}, 201),
    ],
)
def test_what_is_too_long_is_refused_or_not_stored(order, headers, members, expected):
    response = ask(token_client(order.customer.user), headers=headers, **({"order_number": "2841"} | members))
    assert response.status_code == expected
    assert nothing_stored() is (expected != 201)


@pytest.mark.failure("F141")
@pytest.mark.parametrize("field", ["login", "password"])
def test_a_name_that_is_too_long_signs_nobody_in(client, db, field):
    entered = {"login": "a@example.com", "password": "b"} | {field: LONG}
    assert client.post("/accounts/login/", entered, headers={"User-Agent": LONG}).status_code in {200, 400}


@pytest.mark.failure("F141")
@pytest.mark.django_db(transaction=True)
def test_the_longest_reference_of_a_provider_is_kept_whole(desk):
    """Found by a look-up: 255 characters, the most that the provider's ids may have."""
    _, operation = executable(desk)
    desk.sim.arm("drop_after")
    send(desk, operation)
    longest = "re_" + "x" * 252
    rewrite_refunds(desk.sim, id=longest)

    desk.scan()

    stored = desk.operation(operation.workflow_id)
    assert (stored.state, stored.processor_reference) == ("COMPLETED", longest)
    desk.assert_books_agree()
