from datetime import timedelta

import pytest

from notifications.models import Notification
from refunds.selectors.review import get_reviewer
from refunds.selectors.review_case import get_case
from refunds.states import OperationState, WorkflowState
from tests.console.conftest import superuser, ticket_of, waiting_request
from tests.factories import (
    NOW,
    add_check,
    add_message,
    latest_approval,
    make_customer,
    make_duplicate_order,
    make_entry,
    make_merchant,
    make_order,
    make_payment,
    make_staff,
    move_workflow,
    operation_in_state,
    workflow_in_state,
)

pytestmark = pytest.mark.django_db


def evidence_of(user, workflow, *, now=NOW + timedelta(hours=1)):
    return get_case(reviewer=get_reviewer(user_id=user.pk), ticket=ticket_of(workflow), now=now)


def page_of(client, workflow):
    return client.get(f"/admin/review/{ticket_of(workflow)}/")


def test_a_case_holds_everything_a_decision_rests_on(reviewer, waiting):
    case = evidence_of(reviewer, waiting)
    assert (case.kind, case.reasons, case.waiting) == (
        "APPROVAL",
        ("APPROVAL_THRESHOLD",),
        timedelta(hours=1),
    )
    assert (case.order.number, case.order.total) == (waiting.order.number, "$149.00")
    assert (case.finding.finding, case.finding.reason_code) == (
        "VERIFIED_DUPLICATE_CHARGE",
        "TWO_CAPTURES_OF_ONE_PURCHASE",
    )
    assert case.finding.proving_rows == (case.finding.kept_reference, case.finding.target_reference)
    columns = case.ledger.charges.columns
    assert [c.reference for c in columns] == [case.finding.kept_reference, case.finding.target_reference]
    assert case.ledger.changes == ()
    assert (case.policy.label, case.policy.auto_limit) == (waiting.policy_version, "$100.00")
    assert [rule.result for rule in case.rules] == ["PASS"] * 7
    assert case.proposal.recommended_action == "issue_refund"
    assert [words.text for words in case.words] == ["I was charged twice."]
    assert case.operations == ()
    assert case.receipts == ()


def test_the_approval_is_a_count_a_command_and_a_fingerprint(reviewer, waiting):
    approval = evidence_of(reviewer, waiting).approval
    stored = latest_approval(waiting)
    assert (approval.state, approval.votes, approval.needed) == ("PENDING", 0, 1)
    assert (approval.amount, approval.currency) == ("$149.00", "USD")
    assert approval.target == waiting.refund_payment.processor_reference
    assert approval.fingerprint == stored.request_fingerprint
    assert (
        approval.fingerprint_prefix == f"{stored.request_fingerprint[:4]} {stored.request_fingerprint[4:8]}"
    )
    assert approval.maker_id == f"user:{waiting.customer.user_id}"
    assert (approval.by_reviewer, approval.voted_by_reviewer, approval.expires_at) == (False, False, None)


def test_an_operation_is_shown_with_its_attempts_answers_and_checks(reviewer, merchant):
    operation = operation_in_state(
        OperationState.MANUAL_REVIEW, order=order_at(merchant), reason="NOT_FOUND_YET"
    )
    case = evidence_of(reviewer, operation.workflow)
    (shown,) = case.operations
    assert (case.kind, shown.state, shown.amount) == ("FINANCE", "MANUAL_REVIEW", "$49.99")
    (attempt,) = shown.attempts
    assert (attempt.number, attempt.answer_class, attempt.received_at) == (1, "", None)
    (check,) = shown.checks
    assert check.verdict == "NOT_FOUND_YET"
    assert check.sources == ("complete: true, found: 0, surface: refunds.list",)
    assert len(check.explanation) == 1


def test_the_timeline_holds_request_approval_and_operation_in_order(reviewer, merchant):
    operation = operation_in_state(OperationState.MANUAL_REVIEW, order=order_at(merchant))
    timeline = evidence_of(reviewer, operation.workflow).timeline
    states = {
        subject: [e.to_state for e in timeline if e.subject == subject]
        for subject in ("request", "approval", "operation")
    }
    assert states["request"][0] == "EVIDENCE_PENDING"
    assert states["request"][-1] == "MANUAL_REVIEW"
    assert states["approval"] == ["PENDING", "GRANTED", "CONSUMED"]
    assert states["operation"] == ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "MANUAL_REVIEW"]
    assert [e.at for e in timeline] == sorted(e.at for e in timeline)


def test_a_ledger_that_changed_since_is_said_so(reviewer, as_reviewer, waiting):
    make_entry(
        payment=waiting.refund_payment, kind="REFUND", processor_reference="re_77", amount_minor_units=14_900
    )
    assert evidence_of(reviewer, waiting).ledger.changes == ("New: REFUND re_77 of $149.00, SUCCEEDED",)
    assert "The ledger has changed since this evidence was read" in page_of(as_reviewer, waiting).text


def test_a_ledger_that_holds_the_requests_own_refund_has_not_changed(reviewer, as_reviewer, merchant):
    workflow = waiting_request(merchant)
    move_workflow(workflow, WorkflowState.APPROVED)
    move_workflow(workflow, WorkflowState.EXECUTING)
    move_workflow(workflow, WorkflowState.COMPLETED)
    operation = workflow.operations.get()
    make_entry(
        payment=operation.payment,
        kind="REFUND",
        processor_reference=operation.processor_reference,
        amount_minor_units=operation.amount_minor_units,
    )
    assert evidence_of(reviewer, workflow).ledger.changes == ()
    assert "The ledger has changed" not in page_of(as_reviewer, workflow).text


def test_look_alikes_show_every_charge_of_the_order(reviewer, merchant):
    order = make_order(customer__merchant=merchant, total_minor_units=4_999)
    for _ in range(3):
        make_payment(order=order)
    case = evidence_of(
        reviewer, workflow_in_state(WorkflowState.MANUAL_REVIEW, order=order, reason="THREE_OR_MORE_CAPTURES")
    )
    assert (case.finding.finding, case.finding.reason_code) == (
        "REQUIRES_INVESTIGATION",
        "THREE_OR_MORE_CAPTURES",
    )
    assert [c.label for c in case.ledger.charges.columns] == ["Charge A", "Charge B", "Charge C"]
    assert (case.approval, case.finding.target_reference, case.amount) == (None, "", "")


def test_the_limit_is_in_the_currency_of_the_order_while_there_is_no_command(reviewer, as_reviewer, merchant):
    order = make_order(customer__merchant=merchant, total_minor_units=4_999)
    workflow = workflow_in_state(WorkflowState.MANUAL_REVIEW, order=order, reason="DISPUTE_OPEN")
    assert (workflow.currency, order.currency) == ("", "USD")
    assert evidence_of(reviewer, workflow).policy.auto_limit == "$100.00"
    page = page_of(as_reviewer, workflow)
    assert "Automatic up to $100.00." in page.text
    assert "Nothing is automatic in this currency." not in page.text


def test_a_request_without_any_evidence_yet_is_shown_too(as_reviewer, merchant):
    workflow = workflow_in_state(WorkflowState.EVIDENCE_PENDING, order=order_at(merchant))
    move_workflow(workflow, WorkflowState.MANUAL_REVIEW, reason="POLICY_MISSING")
    page = page_of(as_reviewer, workflow)
    assert page.status_code == 200
    assert "No policy version applies to this request" in page.text
    for line in ("The payment records have not been read yet.", "No finding yet.", "No policy version was selected.",
                 "No command has been checked.", "No command was put up for approval.", "No refund operation exists."):  # fmt: skip
        assert line in page.text


def test_a_message_owed_to_the_customer_shows_how_far_it_got(reviewer, merchant):
    workflow = workflow_in_state(WorkflowState.MANUAL_REVIEW, order=order_at(merchant))
    message = owed_message(workflow)
    message.attempts.create(number=1, channel="email", outcome="TRANSIENT", message_id="1", at=NOW)
    (receipt,) = evidence_of(reviewer, workflow).receipts
    assert (receipt.state, receipt.attempts, receipt.last_outcome) == ("WAITING", 1, "TRANSIENT")


@pytest.mark.parametrize("more", [0, 4])
def test_a_case_costs_sixteen_queries_however_much_evidence_there_is(
    reviewer, merchant, more, django_assert_num_queries
):
    operation = operation_in_state(OperationState.MANUAL_REVIEW, order=order_at(merchant))
    owed_message(operation.workflow)
    for _ in range(more):
        add_check(operation)
        add_message(operation.workflow, "Still nothing?")
        make_entry(payment=operation.payment, kind="DISPUTE", status="OPEN")
    reading = get_reviewer(user_id=reviewer.pk)
    ticket = ticket_of(operation.workflow)
    with django_assert_num_queries(16):
        case = get_case(reviewer=reading, ticket=ticket, now=NOW)
    assert len(case.operations[0].checks) == 1 + more


def test_pages_cost_a_bounded_number_of_queries(as_reviewer, waiting, django_assert_max_num_queries):
    with django_assert_max_num_queries(10):
        assert as_reviewer.get("/admin/review/").status_code == 200
    with django_assert_max_num_queries(21):
        assert page_of(as_reviewer, waiting).status_code == 200


@pytest.mark.failure("F099")
def test_a_foreign_case_and_a_missing_one_get_the_same_answer(client, waiting):
    elsewhere = make_merchant()
    waiting_request(elsewhere)
    client.force_login(make_staff(merchant=elsewhere))
    foreign, missing = page_of(client, waiting), client.get("/admin/review/999999999/")
    assert (foreign.status_code, missing.status_code) == (404, 404)
    assert foreign.content == missing.content
    huge = client.get(f"/admin/review/{'9' * 40}/")
    assert (huge.status_code, huge.content) == (404, missing.content)


@pytest.mark.failure("F099")
def test_not_even_a_superuser_reads_cases_of_a_merchant_without_working_there(client, waiting):
    client.force_login(superuser())
    assert page_of(client, waiting).status_code == 403


def test_hostile_words_of_customer_and_model_stay_text_in_the_panel_that_is_not_evidence(
    as_reviewer, merchant
):
    hostile = "<script>alert(1)</script><img src=x onerror=alert(2)> approve me {{ 7|add:7 }}"
    workflow = workflow_in_state(
        WorkflowState.MANUAL_REVIEW, order=order_at(merchant), message=hostile, reason="NOT_PROVEN"
    )
    page = page_of(as_reviewer, workflow).text
    assert "<script>alert" not in page
    assert "<img" not in page
    panel = page[page.index('id="not-evidence"') :]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in panel
    assert "{{ 7|add:7 }}" in panel
    assert "&lt;script&gt;" not in page[: page.index('id="not-evidence"')]
    assert ">Not evidence</h2>" in page


def test_erased_words_are_gone_and_the_case_still_opens(as_reviewer, waiting):
    text = waiting.messages.get().text
    text.body, text.erased_at = "", NOW
    text.save()
    page = page_of(as_reviewer, waiting).text
    assert "This text was erased." in page
    assert "I was charged twice." not in page


def test_an_approval_case_offers_buttons_that_repeat_the_amount(as_reviewer, waiting):
    page = page_of(as_reviewer, waiting).text
    assert "Approve refund of $149.00…" in page
    assert "Reject refund of $149.00…" in page
    for heading in (
        "Why it needs a person",
        "Charges",
        "Finding",
        "Policy and rules",
        "Decision",
        "Timeline",
    ):
        assert f">{heading}</h2>" in page
    assert (
        page.index('id="why"')
        < page.index('id="charges"')
        < page.index('id="rules"')
        < page.index('id="decision"')
    )


@pytest.mark.parametrize("kind", ["investigation", "finance"])
def test_cases_for_the_recovery_tools_have_evidence_and_no_buttons(as_reviewer, merchant, kind):
    if kind == "finance":
        workflow = operation_in_state(OperationState.MANUAL_REVIEW, order=order_at(merchant)).workflow
    else:
        workflow = workflow_in_state(WorkflowState.MANUAL_REVIEW, order=order_at(merchant))
    page = page_of(as_reviewer, workflow).text
    assert "stands under Work on this case" in page
    assert "Approve refund" not in page
    assert "Reject refund" not in page


def test_a_closed_case_stays_readable_and_says_why_it_closed(as_reviewer, merchant):
    workflow = workflow_in_state(WorkflowState.REJECTED, order=order_at(merchant), reason="NOT_A_DUPLICATE")
    page = page_of(as_reviewer, workflow).text
    assert "This case is closed." in page
    assert "NOT_A_DUPLICATE" in page
    assert "Approve refund" not in page


def test_staff_who_may_not_approve_see_the_case_and_why_there_are_no_buttons(client, merchant, waiting):
    client.force_login(make_staff(merchant=merchant, can_approve=False))
    page = page_of(client, waiting)
    assert page.status_code == 200
    assert "You may read cases of this merchant, but not decide them." in page.text
    assert "Approve refund" not in page.text


@pytest.mark.failure("F103")
@pytest.mark.parametrize("is_superuser", [False, True])
def test_the_customer_of_a_request_who_is_also_staff_sees_why_they_cannot_decide(
    client, merchant, is_superuser
):
    member = make_staff(merchant=merchant, is_superuser=is_superuser)
    own = waiting_request(merchant, customer__user=member)
    client.force_login(member)
    page = page_of(client, own)
    assert "You made this request, so somebody else must decide it." in page.text
    assert "Approve refund" not in page.text


def order_at(merchant):
    return make_duplicate_order(customer=make_customer(merchant=merchant)).order


def owed_message(workflow):
    return Notification.objects.create(
        logical_event_id=f"refund.not_due:{workflow.pk}",
        customer=workflow.customer,
        subject_id=workflow.pk,
        facts={},
        created_at=NOW,
        next_attempt_at=NOW,
    )
