"""Decisions through the page: what is recorded, and on every refusal that nothing is."""

import pytest
from django.test import Client

from approvals.models import ApprovalEvent, ApprovalRequest, ReviewCase
from approvals.services import DecisionRefusedError
from approvals.states import ApprovalState
from ledger.models import AuditOutbox, StaffMembership
from refunds.models import RefundOperation, RefundWorkflow, RefundWorkflowEvent
from refunds.states import OperationState, WorkflowState
from tests.console.conftest import superuser, ticket_of, waiting_request
from tests.factories import (
    latest_approval,
    make_duplicate_order,
    make_merchant,
    make_staff,
    move_workflow,
    operation_in_state,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """The nudges that the page sends on; the broker is not part of these tests."""
    nudges = []
    monkeypatch.setattr("refunds.console.views.send_nudges", nudges.extend)
    return nudges


def address(workflow, decision="approve"):
    return f"/admin/review/{ticket_of(workflow)}/{decision}/"


def post(client, workflow, decision="approve", **changes):
    entered = {
        "fingerprint": latest_approval(workflow).request_fingerprint,
        "reason_code": "DUPLICATE_CONFIRMED" if decision == "approve" else "NOT_A_DUPLICATE",
        "note": "" if decision == "approve" else "Two coats, two sizes.",
    } | changes
    return client.post(address(workflow, decision), entered)


def counted():
    """Return what a decision writes, to be compared before and after a refusal."""
    return {
        model.__name__: model.objects.count()
        for model in (ApprovalEvent, RefundWorkflowEvent, RefundOperation, AuditOutbox)
    } | {
        "states": sorted(RefundWorkflow.objects.values_list("pk", "state", "state_sequence")),
        "approvals": sorted(ApprovalRequest.objects.values_list("pk", "state", "state_sequence")),
        "open": ReviewCase.objects.filter(closed_at__isnull=True).count(),
    }


def state_of(workflow):
    return RefundWorkflow.objects.get(pk=workflow.pk).state


def test_the_confirm_page_repeats_the_exact_command(as_reviewer, waiting):
    approval = latest_approval(waiting)
    page = as_reviewer.get(address(waiting), {"seen": approval.request_fingerprint})
    assert page.status_code == 200
    for shown in (
        "<h1>Approve refund of $149.00?</h1>", "USD", waiting.refund_payment.processor_reference,
        f"#{waiting.order.number}", f"{approval.request_fingerprint[:4]} {approval.request_fingerprint[4:8]}",
        "Approve refund of $149.00</button>", "Yours is approval 1 of 1.",
    ):  # fmt: skip
        assert shown in page.text
    assert f'name="fingerprint" value="{approval.request_fingerprint}"' in page.text


def test_an_approval_is_recorded_and_sent_on_and_the_page_says_so(as_reviewer, reviewer, waiting, sent):
    ticket = ticket_of(waiting)
    answer = post(as_reviewer, waiting)
    assert (answer.status_code, answer["Location"]) == (302, f"/admin/review/{ticket}/")
    approval = latest_approval(waiting)
    assert (state_of(waiting), approval.state) == ("APPROVED", "GRANTED")
    assert [e.voter_id for e in approval.events.all() if e.voter_id] == [f"user:{reviewer.pk}"]
    assert ReviewCase.objects.get(ticket=ticket).closed_at is not None
    assert [(n.task, n.kwargs) for n in sent] == [("advance_workflow", {"workflow_id": waiting.pk})]
    page = as_reviewer.get(answer["Location"])
    assert f"Approved: a refund of $149.00 for ticket #{ticket}." in page.text
    assert 'role="status"' in page.text


def test_a_rejection_needs_a_note_and_closes_the_request(as_reviewer, waiting):
    before = counted()
    bare = post(as_reviewer, waiting, "reject", note="  ")
    assert bare.status_code == 422
    assert "Write a note: a rejection needs its reason in words." in bare.text
    assert counted() == before
    answer = post(as_reviewer, waiting, "reject")
    assert answer.status_code == 302
    assert (state_of(waiting), latest_approval(waiting).state) == ("REJECTED", "REJECTED")
    assert RefundOperation.objects.count() == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"reason_code": ""}, {"reason_code": "NOT_A_DUPLICATE"}, {"reason_code": "OTHER"},
        {"note": "x" * 2001}, {"fingerprint": "f" * 65},
    ],
)  # fmt: skip
def test_what_does_not_fit_the_form_is_shown_again_and_records_nothing(as_reviewer, waiting, sent, changes):
    before = counted()
    answer = post(as_reviewer, waiting, **changes)
    assert answer.status_code == 422
    assert "There is a problem" in answer.text
    assert latest_approval(waiting).request_fingerprint in answer.text or "fingerprint" in changes
    assert (counted(), sent) == (before, [])


def test_another_reason_with_a_note_is_enough(as_reviewer, waiting):
    assert post(as_reviewer, waiting, reason_code="OTHER", note="Confirmed by phone.").status_code == 302
    assert state_of(waiting) == "APPROVED"


@pytest.mark.failure("F107")
@pytest.mark.parametrize("second", ["approve", "reject"])
def test_the_second_of_two_decisions_changes_nothing_and_is_told(client, merchant, waiting, sent, second):
    first, other = make_staff(merchant=merchant), make_staff(merchant=merchant)
    client.force_login(first)
    post(client, waiting)
    before = counted()
    sent.clear()
    client.force_login(other)
    answer = post(client, waiting, second)
    assert answer.status_code == 409
    assert "somebody decided it" in answer.text
    assert "Your decision was not recorded." in answer.text
    assert (counted(), sent) == (before, [])


def test_two_people_are_needed_where_the_command_asks_for_two(client, merchant):
    workflow = waiting_request(merchant, approvals_needed=2)
    first, second = make_staff(merchant=merchant), make_staff(merchant=merchant)
    client.force_login(first)
    page = client.get(address(workflow)).text
    assert "Yours is approval 1 of 2. Nothing is sent until somebody else approves too." in page
    answer = post(client, workflow)
    assert "It needs another person&#x27;s approval" in client.get(answer["Location"]).text
    assert (state_of(workflow), latest_approval(workflow).state) == ("REQUIRES_HUMAN_APPROVAL", "PENDING")
    before = counted()
    again = post(client, workflow)
    assert (again.status_code, counted()) == (409, before)
    assert "it needs a second person" in again.text
    client.force_login(second)
    assert "Yours is approval 2 of 2." in client.get(address(workflow)).text
    post(client, workflow)
    assert (state_of(workflow), latest_approval(workflow).state) == ("APPROVED", "GRANTED")


def test_the_second_person_sees_how_many_but_not_who_and_why(client, merchant):
    workflow = waiting_request(merchant, approvals_needed=2)
    first, second = make_staff(merchant=merchant), make_staff(merchant=merchant)
    client.force_login(first)
    post(client, workflow)
    client.force_login(second)
    page = client.get(f"/admin/review/{ticket_of(workflow)}/").text
    assert "1 of 2" in page
    assert f"user:{first.pk}<" not in page
    assert "DUPLICATE_CONFIRMED" not in page


@pytest.mark.failure("F103")
@pytest.mark.parametrize("is_superuser", [False, True])
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_nobody_decides_a_request_of_their_own(client, merchant, sent, is_superuser, decision):
    member = make_staff(merchant=merchant, is_superuser=is_superuser)
    own = waiting_request(merchant, customer__user=member)
    client.force_login(member)
    before = counted()
    answer = post(client, own, decision)
    assert answer.status_code == 409
    assert "You made this request, so somebody else must decide it." in answer.text
    assert (counted(), sent) == (before, [])


@pytest.mark.failure("F113")
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_staff_who_may_only_look_are_refused_and_nothing_changes(client, merchant, waiting, sent, decision):
    client.force_login(make_staff(merchant=merchant, can_approve=False))
    before = counted()
    assert client.get(address(waiting, decision)).status_code == 403
    assert post(client, waiting, decision).status_code == 403
    assert (counted(), sent) == (before, [])


@pytest.mark.failure("F099")
def test_staff_of_another_merchant_get_the_answer_of_an_unknown_ticket(client, waiting, sent):
    client.force_login(make_staff(merchant=make_merchant()))
    before = counted()
    foreign = post(client, waiting)
    missing = client.post("/admin/review/999999999/approve/", {"reason_code": "DUPLICATE_CONFIRMED"})
    assert (foreign.status_code, missing.status_code) == (404, 404)
    assert foreign.content == missing.content
    assert (counted(), sent) == (before, [])


def test_approving_for_one_merchant_is_not_approving_for_another(client, merchant, waiting):
    other = make_merchant()
    member = make_staff(merchant=other, can_approve=True)
    StaffMembership.objects.create(merchant=merchant, user=member, can_approve=False)
    client.force_login(member)
    assert post(client, waiting).status_code == 403
    assert state_of(waiting) == "REQUIRES_HUMAN_APPROVAL"


def test_a_superuser_without_a_membership_decides_nothing(client, waiting):
    client.force_login(superuser())
    assert post(client, waiting).status_code == 403
    assert state_of(waiting) == "REQUIRES_HUMAN_APPROVAL"


def test_signed_out_people_decide_nothing(client, waiting):
    answer = post(client, waiting)
    assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/accounts/login/")
    assert state_of(waiting) == "REQUIRES_HUMAN_APPROVAL"


def test_a_missing_reason_is_asked_for_in_words_and_the_summary_takes_the_focus(as_reviewer, waiting):
    answer = post(as_reviewer, waiting, reason_code="")
    assert answer.status_code == 422
    assert answer.text.count("Choose a reason.") == 2
    assert "This field is required" not in answer.text
    assert '<div class="errornote" role="alert" tabindex="-1" autofocus>' in answer.text
    assert '<a href="#id_reason_code">' in answer.text
    assert '<fieldset id="id_reason_code" class="module" tabindex="-1"' in answer.text


@pytest.mark.failure("F111")
@pytest.mark.parametrize("seen", ["", "0" * 64])
def test_an_approval_of_another_command_than_the_one_that_stands_is_refused(as_reviewer, waiting, sent, seen):
    before = counted()
    answer = post(as_reviewer, waiting, fingerprint=seen)
    assert answer.status_code == 409
    assert "The command changed while you were looking." in answer.text
    assert (counted(), sent) == (before, [])


@pytest.mark.failure("F111")
def test_a_link_from_a_stale_case_page_does_not_lead_to_a_fresh_confirmation(as_reviewer, waiting):
    answer = as_reviewer.get(address(waiting), {"seen": "0" * 64})
    assert answer.status_code == 409
    assert "The command changed while you were looking." in answer.text
    assert '<form method="post" novalidate>' not in answer.text


def test_a_request_that_was_withdrawn_meanwhile_is_not_decided(as_reviewer, waiting, sent):
    move_workflow(waiting, WorkflowState.WITHDRAWN)
    before = counted()
    answer = post(as_reviewer, waiting)
    assert answer.status_code == 409
    assert (counted(), sent) == (before, [])


def test_cases_for_the_recovery_tools_take_no_decision(as_reviewer, merchant, sent):
    order = make_duplicate_order(customer__merchant=merchant).order
    operation = operation_in_state(OperationState.MANUAL_REVIEW, order=order)
    before = counted()
    answer = post(as_reviewer, operation.workflow)
    assert answer.status_code == 409
    assert "stands under Work on this case" in answer.text
    assert (counted(), sent) == (before, [])
    assert as_reviewer.get(address(operation.workflow)).status_code == 302


@pytest.mark.parametrize(
    ("code", "status", "sentence"),
    [
        ("NOT_PENDING", 409, "This request is no longer waiting for a decision"),
        ("OWN_REQUEST", 409, "You made this request"),
        ("ALREADY_VOTED", 409, "You have decided this request already"),
        ("NOT_ALLOWED", 403, "but not decide them"),
        ("FINGERPRINT_CHANGED", 409, "The command changed while you were looking"),
        ("EXPIRED", 409, "This approval has expired"),
        ("SOMETHING_NEW", 409, "The decision was refused (SOMETHING_NEW)"),
    ],
)
def test_every_refusal_of_the_stage_is_a_sentence(
    as_reviewer, waiting, sent, monkeypatch, code, status, sentence
):
    def refuse(**_asked):
        raise DecisionRefusedError(code)

    monkeypatch.setattr("refunds.console.views.decide", refuse)
    answer = post(as_reviewer, waiting)
    assert answer.status_code == status
    assert sentence in answer.text
    assert "Your decision was not recorded." in answer.text
    assert 'role="alert"' in answer.text
    assert sent == []


def test_a_decision_without_a_csrf_token_is_refused(reviewer, waiting):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(reviewer)
    assert post(strict, waiting).status_code == 403
    assert state_of(waiting) == "REQUIRES_HUMAN_APPROVAL"
    assert latest_approval(waiting).state == ApprovalState.PENDING


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_other_methods_are_refused(as_reviewer, waiting, method):
    assert getattr(as_reviewer, method)(address(waiting)).status_code == 405
    assert as_reviewer.post(f"/admin/review/{ticket_of(waiting)}/").status_code == 405


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_a_note_with_a_card_number_comes_back_for_editing_without_it(as_reviewer, waiting, decision):
    before = counted()
    answer = post(as_reviewer, waiting, decision, note="Paid with 4242-4242-4242-4242, twice.")
    assert answer.status_code == 422
    assert "The note contains a card number." in answer.text
    assert "Paid with [card number removed], twice.</textarea>" in answer.text
    assert "4242-4242" not in answer.text
    assert " checked" in answer.text  # the chosen reason stays
    assert latest_approval(waiting).request_fingerprint in answer.text
    assert counted() == before
