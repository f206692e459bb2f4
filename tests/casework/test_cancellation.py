"""Two people give up an operation that nothing proves; what one person says, or what is not proven, frees no money."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import ApprovalRequest, EvidenceAttachment, ReviewCase
from approvals.services import DecisionRefusedError
from ledger.models import AuditOutbox, Customer, ErasableText, Settlement, SettlementFile
from notifications.models import Notification
from refunds import pipeline
from refunds.casework.cancelling import FRESH, VALID_FOR
from refunds.casework.owned_case import CaseAction
from refunds.casework.provider_evidence import ProviderStatement
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.evidence.remaining import conservation_of
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.port import ProviderStatus
from refunds.models import GatewayWebhook, RefundOperation, RefundWorkflow
from refunds.stages.s11_reconcile_outcome import reconcile_outcome
from refunds.states import CheckCause, OperationState
from tests.casework.staff import states_of
from tests.console.conftest import ticket_of
from tests.factories import (
    NOW,
    add_attempt,
    make_duplicate_order,
    make_merchant,
    make_staff,
    operation_in_state,
)
from tests.stages.gateways import ScriptedGateway, booked, listed
from tests.stages.trail import nothing_written, path

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=30)  # past the in-flight horizon and the key's safe window


def look(operation, *refunds, now=LATER, complete=True, cause=CheckCause.PERSON):
    """Have the provider asked, as a person does with "Check again"."""
    RefundOperation.objects.filter(pk=operation.pk).update(checks_made=operation.checks.count())
    gateway = ScriptedGateway(lookups=[listed(*refunds, complete=complete)] * 2)
    return reconcile_outcome(
        operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=now, cause=cause
    )


@pytest.fixture
def operation(merchant):
    """An operation whose answer was lost; the provider's list does not show it, and its key has aged out."""
    made = operation_in_state(
        OperationState.MANUAL_REVIEW, order=make_duplicate_order(customer__merchant=merchant).order
    )
    look(made)
    return made


def claim(operation, staff, *, now=LATER):
    action = CaseAction(ticket=ticket_of(operation.workflow), staff_user_id=staff.pk)
    pipeline.claim_case(action=action, now=now)


FOUND = ProviderStatement(
    source="SUPPORT_ANSWER",
    seen_at=LATER - timedelta(minutes=5),
    provider_reference="req_9f",
    words="We have no refund with that key.",
)


def propose(operation, staff, *, now=LATER, found=FOUND, claimed=True, **said):
    if claimed:
        claim(operation, staff, now=now)
    said = {"reason_code": "PROVIDER_HAS_NO_REFUND", "note": "Asked them by chat."} | said
    action = CaseAction(ticket=ticket_of(operation.workflow), staff_user_id=staff.pk, **said)
    return pipeline.propose_cancellation(action=action, operation_id=operation.pk, found=found, now=now)


def decide(
    approval_id,
    staff,
    *,
    now=LATER,
    decision="approve",
    fingerprint=None,
    note="",
    reason_code="EVIDENCE_CHECKED",
):
    stored = ApprovalRequest.objects.get(pk=approval_id)
    return pipeline.decide_cancellation(
        approval_id=approval_id,
        decision=decision,
        staff_user_id=staff.pk,
        fingerprint=fingerprint or stored.request_fingerprint,
        reason_code=reason_code,
        note=note,
        now=now,
    )


def state(operation):
    return RefundOperation.objects.get(pk=operation.pk).state


def remaining(operation):
    return conservation_of(operation.payment_id).remaining


def not_done(call, *args, error=CaseWorkRefusedError, **more):
    with nothing_written(), pytest.raises(error) as refusal:
        call(*args, **more)
    return refusal.value.code


def test_an_amount_is_free_only_once_a_second_person_has_confirmed(operation, starter, colleague):
    assert remaining(operation) == 0
    approval_id = propose(operation, starter)
    assert (state(operation), remaining(operation)) == ("MANUAL_REVIEW", 0)
    assert not_done(decide, approval_id, starter, error=DecisionRefusedError) == "OWN_REQUEST"
    decide(approval_id, colleague)
    assert (path(operation)[-2:], remaining(operation)) == (["MANUAL_REVIEW", "CANCELLED"], 4999)
    assert RefundWorkflow.objects.get(pk=operation.workflow_id).state == "MANUAL_REVIEW"
    proposal = ApprovalRequest.objects.get(pk=approval_id)
    assert [event.to_state for event in proposal.events.order_by("pk") if event.to_state] == [
        "PENDING", "GRANTED", "CONSUMED",
    ]  # fmt: skip
    assert (proposal.subject_kind, proposal.subject_id) == ("EVIDENCE", operation.pk)
    assert ApprovalRequest.objects.get(pk=operation.approval_id).state == "VOIDED"


def test_the_evidence_holds_digests_and_named_fields_and_its_words_can_be_erased(operation, starter):
    approval_id = propose(operation, starter)
    kept = EvidenceAttachment.objects.get(approval_id=approval_id)
    assert (kept.kind, kept.attached_by, kept.at) == ("SUPPORT_ANSWER", f"user:{starter.pk}", LATER)
    assert kept.facts == {"provider_reference": "req_9f", "seen_at": FOUND.seen_at.isoformat()}
    assert (kept.text.body, kept.sha256) == (FOUND.words, FOUND.sha256)
    command = ApprovalRequest.objects.get(pk=approval_id).command
    assert command["evidence"] == [{"kind": "SUPPORT_ANSWER", "sha256": FOUND.sha256, "facts": kept.facts}]
    assert (command["action"], command["amount_minor_units"], command["payment"]) == (
        "CANCEL_OPERATION", 4999, operation.payment_reference,
    )  # fmt: skip
    told = AuditOutbox.objects.filter(subject__in=[operation.pk, approval_id])
    assert told.exists()
    assert not told.filter(payload__icontains="no refund with that key").exists()


def test_words_that_changed_or_were_erased_are_no_evidence_any_more(operation, starter, colleague):
    approval_id = propose(operation, starter)
    ErasableText.objects.filter(pk=EvidenceAttachment.objects.get().text_id).update(body="")
    assert not_done(decide, approval_id, colleague, error=DecisionRefusedError) == "FINGERPRINT_CHANGED"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"source": "RUMOUR"}, "EVIDENCE_KIND_UNKNOWN"),
        ({"provider_reference": ""}, "EVIDENCE_REFERENCE_INVALID"),
        ({"provider_reference": "a b"}, "EVIDENCE_REFERENCE_INVALID"),
        ({"provider_reference": "x" * 101}, "EVIDENCE_REFERENCE_INVALID"),
        ({"seen_at": LATER + timedelta(seconds=1)}, "EVIDENCE_FROM_THE_FUTURE"),
        ({"seen_at": NOW}, "EVIDENCE_BEFORE_THE_CALL"),
        ({"words": " \n"}, "EVIDENCE_REQUIRED"),
        ({"words": "a\x00"}, "EVIDENCE_NOT_READABLE"),
        ({"words": "x" * 2001}, "EVIDENCE_TOO_LONG"),
        ({"words": "card 4242 4242 4242 4242"}, "EVIDENCE_HAS_CARD_NUMBER"),
    ],
)
def test_evidence_that_says_nothing_usable_is_refused(operation, starter, changed, code):
    claim(operation, starter)
    found = replace(FOUND, **changed)
    assert not_done(propose, operation, starter, found=found, claimed=False) == code


def test_only_whoever_holds_the_case_proposes(operation, merchant, starter, colleague):
    assert not_done(propose, operation, starter, claimed=False) == "NOT_CLAIMED"
    claim(operation, colleague)
    assert not_done(propose, operation, starter, claimed=False) == "CLAIMED_BY_ANOTHER"
    assert not_done(propose, operation, colleague, claimed=False, reason_code="") == "REASON_REQUIRED"
    for stranger in (make_staff(merchant=merchant, can_approve=False), make_staff(merchant=make_merchant())):
        assert not_done(propose, operation, stranger, claimed=False) == "NOT_ALLOWED"
    foreign = operation_in_state(OperationState.MANUAL_REVIEW)
    action = CaseAction(
        ticket=ticket_of(operation.workflow), staff_user_id=colleague.pk, reason_code="OTHER", note="x"
    )
    for operation_id in (foreign.pk, "rfop_none"):
        with nothing_written(), pytest.raises(CaseWorkRefusedError, match="NO_SUCH_OPERATION"):
            pipeline.propose_cancellation(action=action, operation_id=operation_id, found=FOUND, now=LATER)


def test_the_customer_of_a_request_has_no_part_in_it(operation, merchant, starter):
    insider = make_staff(merchant=merchant)
    approval_id = propose(operation, starter)
    Customer.objects.filter(pk=operation.workflow.customer_id).update(user=insider)
    assert not_done(decide, approval_id, insider, error=DecisionRefusedError) == "OWN_REQUEST"


@pytest.mark.failure("F106")
def test_a_proposal_ends_after_a_day_and_may_then_be_made_anew(operation, starter, colleague):
    first = propose(operation, starter)
    later = LATER + VALID_FOR
    look(operation, now=later)
    assert not_done(decide, first, colleague, now=later, error=DecisionRefusedError) == "EXPIRED"
    second = propose(operation, colleague, now=later)
    assert ApprovalRequest.objects.get(pk=first).state == "VOIDED"
    decide(second, starter, now=later)
    assert state(operation) == "CANCELLED"


def test_one_proposal_waits_at_a_time_and_a_declined_one_frees_nothing(operation, starter, colleague):
    first = propose(operation, starter)
    claim(operation, colleague)
    assert not_done(propose, operation, colleague, claimed=False) == "PROPOSAL_PENDING"
    decide(first, colleague, decision="reject", note="The chat is about another key.")
    assert (state(operation), remaining(operation)) == ("MANUAL_REVIEW", 0)
    assert not_done(decide, first, colleague, error=DecisionRefusedError) == "NOT_PENDING"
    second = propose(operation, colleague)
    assert ApprovalRequest.objects.get(pk=second).command_number == 2
    decide(second, starter)
    assert state(operation) == "CANCELLED"


@pytest.mark.failure("F111")
def test_a_confirmation_is_of_what_was_seen(operation, starter, colleague, merchant):
    approval_id = propose(operation, starter)
    wrong = "0" * 64
    assert (
        not_done(decide, approval_id, colleague, fingerprint=wrong, error=DecisionRefusedError)
        == "FINGERPRINT_CHANGED"
    )
    view_only = make_staff(merchant=merchant, can_approve=False)
    assert not_done(decide, approval_id, view_only, error=DecisionRefusedError) == "NOT_ALLOWED"
    refund_approval = ApprovalRequest.objects.get(pk=operation.approval_id)
    assert not_done(decide, refund_approval.pk, colleague, error=DecisionRefusedError) == "NOT_PENDING"


def test_a_colleague_who_works_on_the_case_is_not_overtaken(operation, merchant, starter, colleague):
    approval_id = propose(operation, starter)
    third = make_staff(merchant=merchant)
    claim(operation, third)
    assert not_done(decide, approval_id, colleague, error=DecisionRefusedError) == "CLAIMED_BY_ANOTHER"
    decide(approval_id, third)
    assert ReviewCase.objects.get(ticket=ticket_of(operation.workflow)).claimed_by == ""


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_provider_is_asked_lately_before_the_proposal_and_before_the_confirmation(
    operation, starter, colleague, when
):
    later = LATER + FRESH + timedelta(seconds=1)
    if when == "before":
        claim(operation, starter, now=later)
        assert not_done(propose, operation, starter, now=later, claimed=False) == "LOOK_FIRST"
        return
    approval_id = propose(operation, starter)
    assert not_done(decide, approval_id, colleague, now=later) == "LOOK_FIRST"
    look(operation, now=later)
    decide(approval_id, colleague, now=later)
    assert state(operation) == "CANCELLED"


def test_while_a_call_may_still_run_or_the_list_is_not_read_nothing_is_given_up(merchant, starter):
    made = operation_in_state(
        OperationState.MANUAL_REVIEW, order=make_duplicate_order(customer__merchant=merchant).order
    )
    soon = NOW + timedelta(minutes=10)
    look(made, now=soon, cause=CheckCause.WEBHOOK)
    claim(made, starter, now=soon)
    found = replace(FOUND, seen_at=soon - timedelta(minutes=1))
    assert not_done(propose, made, starter, now=soon, found=found, claimed=False) == "STILL_IN_FLIGHT"
    claim(made, starter)
    look(made, complete=False)
    assert not_done(propose, made, starter, claimed=False) == "LOOK_INCONCLUSIVE"


@pytest.mark.parametrize("told", ["event", "settlement"])
def test_what_the_provider_told_of_is_not_given_up(operation, starter, colleague, told):
    approval_id = propose(operation, starter)
    _TOLD[told](operation)
    assert not_done(decide, approval_id, colleague) == "PROVIDER_TOLD_OF_REFUND"
    claim(operation, starter)
    assert not_done(propose, operation, starter, claimed=False) == "PROVIDER_TOLD_OF_REFUND"


@pytest.mark.parametrize(
    ("sent", "told", "objection"),
    [
        (True, True, "PROVIDER_TOLD_OF_REFUND"),
        (None, True, "PROVIDER_TOLD_OF_REFUND"),  # from before the mode was kept
        (False, False, "PROVIDER_TOLD_OF_REFUND"),
        (False, True, ""),  # of the other mode: about another refund
        (True, False, ""),
    ],
)
def test_what_was_told_counts_where_the_pages_run_without_the_providers_key(
    operation, settings, sent, told, objection
):
    """Only a key says which mode it is for, and the pages have none; the attempts know where they went."""
    settings.STRIPE_API_KEY = ""
    add_attempt(operation, livemode=sent)
    _told_by_event(operation, livemode=told, outcome="GIVEN_UP", next_attempt_at=None)
    assert pipeline.why_not_given_up(operation_id=operation.pk, now=LATER) == objection


def _told_by_event(operation, **changed):
    text = ErasableText.keep("{}", now=LATER)
    row = {
        "provider": "stripe", "event_id": "evt_1", "event_type": "refund.created", "livemode": False,
        "object_id": "re_1", "operation_id": operation.pk, "happened_at": LATER, "received_at": LATER,
        "next_attempt_at": LATER,
    }  # fmt: skip
    GatewayWebhook.objects.create(**(row | changed), body=text, body_sha256=text.sha256)


def _told_by_settlement(operation):
    report = {"merchant_id": operation.merchant_id, "report": "BALANCE_CHANGE", "imported_at": LATER}
    file = SettlementFile.objects.create(**report, sha256="a" * 64, rows=1)
    Settlement.objects.create(
        **report, file=file, row_reference="txn_1", category="REFUND", processor_reference="re_1",
        operation_id=operation.pk, amount_minor_units=4999, currency="USD", settled_minor_units=4999,
        settled_currency="USD", booked_at=LATER,
    )  # fmt: skip


_TOLD = {"event": _told_by_event, "settlement": _told_by_settlement}


def test_an_operation_that_late_evidence_moved_takes_its_proposal_with_it(operation, starter, colleague):
    approval_id = propose(operation, starter)
    look(operation, booked(operation))
    assert state(operation) == "COMPLETED"
    assert ApprovalRequest.objects.get(pk=approval_id).state == "VOIDED"
    assert not_done(decide, approval_id, colleague, error=DecisionRefusedError) == "NOT_PENDING"


def test_an_operation_whose_refund_was_once_seen_is_not_given_up(operation, starter):
    look(operation, booked(operation))
    look(operation, booked(operation, status=ProviderStatus.UNRECOGNISED), now=LATER)
    assert state(operation) == "MANUAL_REVIEW"
    claim(operation, starter)
    assert not_done(propose, operation, starter, claimed=False) == "REFERENCE_KNOWN"


@pytest.mark.failure("F022")
def test_a_refund_that_shows_up_after_all_brings_the_operation_back_to_people(operation, starter, colleague):
    decide(propose(operation, starter), colleague)
    look(operation, booked(operation), cause=CheckCause.WEBHOOK)
    assert path(operation)[-2:] == ["CANCELLED", "MANUAL_REVIEW"]
    assert (state(operation), remaining(operation)) == ("MANUAL_REVIEW", 0)
    assert states_of(operation.workflow)[-1] == "MANUAL_REVIEW"


def test_only_the_lock_order_is_taken(operation, starter, colleague):
    approval_id = propose(operation, starter)
    with CaptureQueriesContext(connection) as queries:
        decide(approval_id, colleague)
    tables = [
        table
        for query in queries
        if "FOR NO KEY UPDATE" in query["sql"]
        for table in (
            "ledger_payments",
            "refund_workflows",
            "refund_operations",
            "approval_requests",
            "review_cases",
        )
        if f'FROM "{table}"' in query["sql"]
    ]
    assert tables[:5] == [
        "ledger_payments", "refund_workflows", "refund_operations", "approval_requests", "review_cases",
    ]  # fmt: skip


def test_a_customer_is_not_told_of_an_operation_that_was_given_up(operation, starter, colleague):
    decide(propose(operation, starter), colleague)
    assert not Notification.objects.exists()
