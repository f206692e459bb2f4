"""Work on a case through the pages: what each action shows, does, and refuses."""

from datetime import timedelta

import pytest
from django.db import connection

from approvals.models import ReviewCase
from ledger.clock import now_utc
from refunds.models import RefundWorkflow
from refunds.states import OperationState, WorkflowState
from tests.casework.staff import charge_of, start
from tests.console.conftest import ticket_of
from tests.factories import (
    make_customer,
    make_duplicate_order,
    make_merchant,
    make_staff,
    move_workflow,
    open_workflow,
    operation_in_state,
    workflow_in_state,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """The nudges that the pages send on; the broker is not part of these tests."""
    nudges = []
    monkeypatch.setattr("refunds.console.work.send_nudges", nudges.extend)
    return nudges


@pytest.fixture
def owned(merchant):
    """A request in manual review, read and opened just now."""
    now = now_utc()
    double = make_duplicate_order(customer__merchant=merchant, now=now)
    return workflow_in_state(WorkflowState.MANUAL_REVIEW, order=double.order, reason="NOT_PROVEN", now=now)


def at(workflow, action=""):
    return f"/admin/review/{ticket_of(workflow)}/{action}"


def state(workflow):
    return RefundWorkflow.objects.get(pk=workflow.pk).state


def test_a_case_is_claimed_worked_on_and_given_back(as_reviewer, owned):
    page = as_reviewer.get(at(owned))
    assert "Claim this case</button>" in page.text
    assert "Claim this case first, so that nobody else works on it at the same time." in page.text
    answer = as_reviewer.post(at(owned, "claim/"), follow=True)
    assert f"Ticket #{ticket_of(owned)} is yours for the next 20 minutes." in answer.text
    assert "Give this case back</button>" in answer.text
    assert at(owned, "rebuild/") in answer.text
    assert "Claimed by</dt>" in answer.text
    answer = as_reviewer.post(at(owned, "release/"))
    assert (answer.status_code, answer["Location"]) == (302, "/admin/review/")
    assert ReviewCase.objects.get(ticket=ticket_of(owned)).claimed_by == ""


def test_a_colleagues_case_offers_nothing_until_their_time_is_over(as_reviewer, merchant, owned):
    colleague = make_staff(merchant=merchant, username="robin")
    case = ReviewCase.objects.filter(ticket=ticket_of(owned))
    case.update(claimed_by=f"user:{colleague.pk}", claimed_until=now_utc() + timedelta(minutes=5))
    page = as_reviewer.get(at(owned))
    assert "robin, until" in page.text
    assert "A colleague works on this case." in page.text
    assert "Claim this case" not in page.text
    refused = as_reviewer.post(at(owned, "claim/"))
    assert refused.status_code == 409
    assert "Nothing was changed." in refused.text
    case.update(claimed_until=now_utc() - timedelta(seconds=1))
    assert "Take this case over</button>" in as_reviewer.get(at(owned)).text
    assert as_reviewer.post(at(owned, "claim/")).status_code == 302


ENTERED = {
    "read-again/": {"reason_code": "RECORDS_CORRECTED", "note": "Fixed in the shop."},
    "rebuild/": {"reason_code": "DUPLICATE_CONFIRMED", "note": ""},
    "close/": {"reason_code": "NOT_A_DUPLICATE", "note": "Two coats.", "outcome": "REJECTED"},
}
ENDS = {"read-again/": "EVIDENCE_PENDING", "rebuild/": "REQUIRES_HUMAN_APPROVAL", "close/": "REJECTED"}


@pytest.mark.parametrize("action", ENTERED)
def test_an_action_repeats_its_target_asks_for_a_reason_and_is_done(as_reviewer, owned, sent, action):
    as_reviewer.post(at(owned, "claim/"))
    page = as_reviewer.get(at(owned, action))
    assert page.status_code == 200
    for shown in (
        "Northwind",
        "$49.99",
        owned.refund_payment.processor_reference,
        f"#{owned.order.number}",
        "Effect</dt>",
    ):
        assert shown in page.text
    assert "Back to the case without changing it" in page.text
    bare = as_reviewer.post(at(owned, action), {})
    assert bare.status_code == 422
    assert "There is a problem" in bare.text
    assert 'href="#id_reason_code">Reason: Choose a reason.</a>' in bare.text
    assert state(owned) == "MANUAL_REVIEW"
    answer = as_reviewer.post(at(owned, action), ENTERED[action])
    assert answer.status_code == 302
    assert state(owned) == ENDS[action]
    assert [nudge.task for nudge in sent] == {
        "read-again/": ["advance_workflow"], "rebuild/": [], "close/": ["deliver_notifications"],
    }[action]  # fmt: skip
    shown = as_reviewer.get(answer["Location"])
    assert "REVIEW" in shown.text
    assert not ENTERED[action]["note"] or f"Note: {ENTERED[action]['note']}" in shown.text


def test_a_request_whose_refund_stands_is_closed_as_completed(as_reviewer, merchant, sent):
    order = make_duplicate_order(customer__merchant=merchant).order
    workflow = operation_in_state(OperationState.COMPLETED, order=order).workflow
    move_workflow(workflow, WorkflowState.MANUAL_REVIEW, reason="CONFLICTING_ROWS")
    as_reviewer.post(at(workflow, "claim/"))
    page = as_reviewer.get(at(workflow))
    assert "A refund of this request was completed, so it cannot go on or end without one." in page.text
    address = at(workflow, "close-completed/")
    assert address in page.text
    confirm = as_reviewer.get(address)
    for shown in ("Northwind", "$49.99", "Close as completed</button>", "the customer is told which refunds"):
        assert shown in confirm.text
    bare = as_reviewer.post(address, {"reason_code": "STANDS_ONCE", "note": ""})
    assert (bare.status_code, "closing needs its reason in words" in bare.text) == (422, True)
    answer = as_reviewer.post(
        address, {"reason_code": "STANDS_ONCE", "note": "Seen at the bank."}, follow=True
    )
    assert "Closed as completed." in answer.text
    assert state(workflow) == "COMPLETED"
    assert [nudge.task for nudge in sent] == ["deliver_notifications"]


def test_nothing_is_closed_as_completed_that_was_not(as_reviewer, owned):
    as_reviewer.post(at(owned, "claim/"))
    assert at(owned, "close-completed/") not in as_reviewer.get(at(owned)).text
    assert as_reviewer.post(at(owned, "close-completed/"), ENTERED["close/"]).status_code == 409
    assert state(owned) == "MANUAL_REVIEW"


def test_an_action_without_a_claim_is_refused_with_a_sentence(as_reviewer, owned, sent):
    refused = as_reviewer.post(at(owned, "close/"), ENTERED["close/"])
    assert refused.status_code == 409
    assert "Claim this case first" in refused.text
    assert "Nothing was changed." in refused.text
    assert (state(owned), sent) == ("MANUAL_REVIEW", [])


@pytest.mark.failure("F113")
@pytest.mark.parametrize("action", ["claim/", "release/", *ENTERED])
def test_a_view_only_account_changes_nothing(client, merchant, owned, sent, action):
    client.force_login(make_staff(merchant=merchant, can_approve=False))
    assert '<form method="post" action="/admin/review/' not in client.get(at(owned)).text
    assert client.post(at(owned, action), ENTERED.get(action, {})).status_code == 403
    assert (state(owned), sent) == ("MANUAL_REVIEW", [])
    assert ReviewCase.objects.get(ticket=ticket_of(owned)).claimed_by == ""


@pytest.mark.failure("F099")
@pytest.mark.parametrize("action", ["claim/", *ENTERED])
def test_a_case_of_another_merchant_does_not_exist(client, owned, action):
    client.force_login(make_staff(merchant=make_merchant()))
    assert client.post(at(owned, action), ENTERED.get(action, {})).status_code == 404


def test_an_outcome_in_doubt_can_be_looked_up_and_the_request_stays(as_reviewer, merchant, sent):
    order = make_duplicate_order(customer__merchant=merchant).order
    operation = operation_in_state(OperationState.MANUAL_REVIEW, order=order)
    workflow = operation.workflow
    as_reviewer.post(at(workflow, "claim/"))
    page = as_reviewer.get(at(workflow))
    assert "The outcome of a refund operation is not known yet." in page.text
    address = at(workflow, f"look-up/{operation.pk}/")
    assert address in page.text
    confirm = as_reviewer.get(address)
    assert "Check the refund of $49.99 again</button>" in confirm.text
    assert "Nothing is sent to it" in confirm.text
    assert as_reviewer.post(address).status_code == 302
    assert [(n.task, n.kwargs["operation_id"]) for n in sent] == [("reconcile_operation", operation.pk)]
    assert as_reviewer.get(at(workflow, "look-up/rfop_none/")).status_code == 404


def test_a_request_without_an_order_breaks_no_page(as_reviewer, merchant):
    customer = make_customer(merchant=merchant)
    order = make_duplicate_order(customer=customer).order
    workflow = open_workflow(order=order)
    with connection.cursor() as cursor:  # as stage 2 stores a request whose order is not known yet
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE refund_workflows DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE refund_workflows SET order_id = NULL, open_slot = NULL WHERE id = %s", [workflow.pk]
        )
        cursor.execute("ALTER TABLE refund_workflows ENABLE TRIGGER USER")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    ticket = ReviewCase.objects.create(
        id="case_1", ticket=1, merchant=merchant, kind="INVESTIGATION", subject_id=workflow.pk,
        reason="CUSTOMER_ASKED_PERSON", opened_at=now_utc(),
    ).ticket  # fmt: skip
    assert "not given yet" in as_reviewer.get("/admin/review/").text
    page = as_reviewer.get(f"/admin/review/{ticket}/")
    assert page.status_code == 200
    assert "The customer has not said yet which order the request is about." in page.text
    assert "no order given yet" in page.text


def test_a_refund_that_staff_started_says_by_whom_and_shows_its_starter_no_button(client, merchant, reviewer):
    starter = make_staff(merchant=merchant, username="sam")
    now = now_utc()
    payment = charge_of(merchant, refreshed_at=now)
    payment.order.placed_at = now - timedelta(days=1)
    payment.order.save()
    workflow = start(payment, starter, now=now)
    client.force_login(starter)
    mine = client.get(at(workflow))
    assert "You made this request, so somebody else must decide it." in mine.text
    assert "Claim this case" not in mine.text
    client.force_login(reviewer)
    page = client.get(at(workflow))
    assert "sam, for the customer" in page.text
    assert "A member of staff asked for this refund, so others must decide." in page.text
    assert "Approve refund of $60.00" in page.text
    assert "Charge that stays" not in page.text


def test_the_queue_says_who_works_on_what_and_what_is_late(as_reviewer, reviewer, merchant, owned):
    cases = ReviewCase.objects.filter(ticket=ticket_of(owned))
    cases.update(
        due_at=now_utc() - timedelta(hours=2, seconds=30),
        claimed_by=f"user:{reviewer.pk}",
        claimed_until=now_utc() + timedelta(minutes=5),
    )
    other = workflow_in_state(
        WorkflowState.MANUAL_REVIEW, order=make_duplicate_order(customer__merchant=merchant).order
    )
    page = as_reviewer.get("/admin/review/").text
    assert "<strong>2 h 0 min late</strong>" in page
    assert 'data-label="Claimed by">you</td>' in page
    assert 'data-label="Claimed by">nobody</td>' in page
    for whose, shown, hidden in (
        ("mine", owned, other),
        ("unclaimed", other, owned),
        ("overdue", owned, other),
    ):
        listed = as_reviewer.get("/admin/review/", {"whose": whose}).text
        assert f"#{ticket_of(shown)}<" in listed
        assert f"#{ticket_of(hidden)}<" not in listed


@pytest.mark.parametrize("action", ENTERED)
def test_a_note_with_a_card_number_comes_back_for_editing_without_it(as_reviewer, owned, sent, action):
    as_reviewer.post(at(owned, "claim/"))
    entered = ENTERED[action] | {"note": "Card 4242,4242,4242,4242 was used."}
    answer = as_reviewer.post(at(owned, action), entered)
    assert answer.status_code == 422
    assert "The note contains a card number." in answer.text
    assert "Card [card number removed] was used.</textarea>" in answer.text
    assert "4242,4242" not in answer.text
    assert (state(owned), sent) == ("MANUAL_REVIEW", [])


def test_the_maker_of_a_command_does_not_claim_its_approval(client, merchant, reviewer):
    asked = start(charge_of(merchant, refreshed_at=now_utc()), reviewer, now=now_utc())
    client.force_login(reviewer)
    refused = client.post(at(asked, "claim/"))
    assert refused.status_code == 409
    assert "Nothing was changed." in refused.text
    assert ReviewCase.objects.get(ticket=ticket_of(asked)).claimed_by == ""
    client.force_login(make_staff(merchant=merchant))
    assert client.post(at(asked, "claim/")).status_code == 302
