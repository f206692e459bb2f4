from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import IntegrityError

from approvals.models import ApprovalRequest, ReviewCase
from ledger.models import ErasableText, Order
from policies.models import PolicyVersion
from refunds.evidence.policy import policy_of
from refunds.models import Proposal, RefundWorkflow, RuleResult
from refunds.proposers.check_results import CheckRule
from refunds.proposers.port import DeclinedKind
from refunds.stages.s07_validate_proposal import validate_proposal
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import OperationState, WorkflowState
from tests.factories import (
    NOW,
    make_duplicate_order,
    make_entry,
    make_policy,
    operation_in_state,
    workflow_in_state,
)
from tests.factories.commands import WHY
from tests.stages.proposals import GOOD
from tests.stages.trail import last_move, nothing_written, path, trail

pytestmark = pytest.mark.django_db


def proposed(order=None, *, text=GOOD, proposer="model-1", rules=None, **columns):
    """Return a request with a verified finding and one stored proposal."""
    order = order or make_duplicate_order().order
    make_policy(merchant=order.merchant, version=7, rules=rules)
    workflow = workflow_in_state(WorkflowState.EVIDENCE_VERIFIED, order=order)
    facts = {"output_class": "VALID", "detail": ""} | columns
    Proposal.objects.create(
        workflow=workflow,
        command_number=workflow.command_number,
        proposer=proposer,
        draft=ErasableText.keep(text, now=NOW),
        at=NOW,
        **facts,
    )
    with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
        evidence.move_workflow(WorkflowState.ACTION_PROPOSED, WHY)
    return workflow


def validate(workflow, *, now=NOW):
    """Run stage 7; return each rule's (result, outcome), in order."""
    with evidence_transaction(workflow_id=workflow.pk, now=now) as evidence:
        validate_proposal(evidence=evidence, policy=policy_of(workflow.policy_id))
    rows = RuleResult.objects.filter(workflow=workflow).order_by("pk")
    assert [row.rule for row in rows] == list(CheckRule)
    return {row.rule: (row.result, row.outcome) for row in rows}


def failed(results):
    return [rule for rule, (result, _) in results.items() if result == "FAIL"]


def asks_for_a_person(results):
    return [rule for rule, (_, outcome) in results.items() if outcome == "NEEDS_PERSON"]


def test_seven_checks_leave_seven_rows_and_validate():
    workflow = proposed()
    assert set(validate(workflow).values()) == {("PASS", "CONTINUE")}
    assert path(workflow)[-2:] == ["ACTION_PROPOSED", "PROPOSAL_VALIDATED"]
    event = last_move(workflow)
    assert (event.stage, event.reason, event.actor_id) == ("VALIDATE_PROPOSAL", "VALIDATED", "guardrail_v1")
    assert event.evidence == {"results": {str(rule): "PASS" for rule in CheckRule}}
    row = RuleResult.objects.get(rule="AMOUNT_MATCHES_LEDGER")
    assert (row.policy_version, row.command_number, row.at) == ("REF-DUP v7", 1, NOW)
    assert row.inputs == {
        "command_amount_minor_units": 4999,
        "command_currency": "USD",
        "captured_minor_units": 4999,
        "ledger_currency": "USD",
        "refundable_minor_units": 4999,
    }


def test_an_amount_above_the_limit_asks_for_a_person_and_rejects_nothing():
    workflow = proposed(make_duplicate_order(amount_minor_units=10_001).order)
    results = validate(workflow)
    assert (failed(results), asks_for_a_person(results)) == ([], ["APPROVAL_THRESHOLD"])
    assert path(workflow)[-1] == "PROPOSAL_VALIDATED"


def test_a_model_may_ask_for_a_person():
    workflow = proposed(text=GOOD.replace("issue_refund", "ask_person"))
    assert asks_for_a_person(validate(workflow)) == ["ACTION_ALLOWED"]
    assert path(workflow)[-1] == "PROPOSAL_VALIDATED"


@pytest.mark.parametrize("asked_for", ["true", "false"])
def test_the_models_own_wish_for_a_review_is_recorded_and_not_read(asked_for):
    workflow = proposed(text=GOOD.replace("false", asked_for))
    assert asks_for_a_person(validate(workflow)) == []
    recorded = RuleResult.objects.get(rule="SCHEMA").inputs
    assert recorded == {"model_requires_human_review": asked_for == "true"}


@pytest.mark.parametrize(("allowed", "asks"), [(True, []), (False, ["APPROVAL_THRESHOLD"])])
def test_the_policy_says_whether_a_case_goes_on_without_a_model(allowed, asks):
    workflow = proposed(proposer="deterministic", rules={"automatic_without_model": allowed})
    assert asks_for_a_person(validate(workflow)) == asks


@pytest.mark.failure("F022")
def test_money_that_the_provider_took_back_is_not_sent_again_without_a_person():
    failed_before = operation_in_state(OperationState.FAILED)
    RefundWorkflow.objects.update(open_slot=None)
    workflow = proposed(failed_before.workflow.order)
    assert asks_for_a_person(validate(workflow)) == ["APPROVAL_THRESHOLD"]


def assert_rejected(workflow, rule):
    """The proposal is out, people own the request, and there is nothing that they could simply approve."""
    assert path(workflow)[-3:] == ["ACTION_PROPOSED", "PROPOSAL_REJECTED", "MANUAL_REVIEW"]
    assert [event.reason for event in trail(workflow)[-2:]] == [rule, rule]
    workflow.refresh_from_db()
    assert (workflow.person_required, workflow.next_attempt_at) == (True, None)
    case = ReviewCase.objects.get(subject_id=workflow.pk)
    assert (case.kind, case.reason, case.closed_at) == ("INVESTIGATION", rule, None)
    assert not ApprovalRequest.objects.exists()


@pytest.mark.parametrize(
    ("output_class", "detail"),
    [
        ("REPAIRABLE", "MISSING_FIELD"),
        ("REJECT", "DECLINED"),
        ("REJECT", "FORBIDDEN_KEY"),
        ("REPAIRABLE", "NOT_JSON"),
    ],
)
def test_a_malformed_proposal_is_rejected(output_class, detail):
    workflow = proposed(output_class=output_class, detail=detail)
    results = validate(workflow)
    assert failed(results) == ["SCHEMA"]
    assert [rule for rule, (result, _) in results.items() if result == "NOT_RUN"] == [
        "ACTION_ALLOWED",
        "GUARDRAILS",
    ]
    assert RuleResult.objects.get(rule="SCHEMA").inputs["reason"] == detail
    assert_rejected(workflow, "SCHEMA")


@pytest.mark.parametrize("kind", DeclinedKind)
def test_a_model_that_declined_is_a_rejected_proposal_however_it_declined(kind):
    workflow = proposed(output_class="REJECT", detail=str(kind))
    assert failed(validate(workflow)) == ["SCHEMA"]
    assert RuleResult.objects.get(rule="SCHEMA").inputs["reason"] == "DECLINED"
    assert_rejected(workflow, "SCHEMA")


def test_a_draft_that_was_erased_before_it_was_judged_is_rejected():
    workflow = proposed()
    ErasableText.objects.update(body="", erased_at=NOW)
    assert failed(validate(workflow)) == ["SCHEMA"]
    assert RuleResult.objects.get(rule="SCHEMA").inputs["reason"] == "EMPTY_MESSAGE"
    assert_rejected(workflow, "SCHEMA")


def test_a_draft_that_claims_a_refund_is_rejected_by_the_guardrails():
    workflow = proposed(text=GOOD.replace("Two charges were found", "Your refund was issued"))
    assert failed(validate(workflow)) == ["GUARDRAILS"]
    assert_rejected(workflow, "GUARDRAILS")


def test_a_refund_for_another_reason_than_the_finding_is_rejected():
    workflow = proposed(text=GOOD.replace("verified_duplicate_charge", "other"))
    assert failed(validate(workflow)) == ["POLICY_RULES"]
    assert_rejected(workflow, "POLICY_RULES")


def test_an_order_that_changed_hands_is_rejected():
    made = make_duplicate_order()
    workflow = proposed(made.order)
    Order.objects.filter(pk=made.order.pk).update(customer=make_duplicate_order().order.customer)
    assert failed(validate(workflow)) == ["CUSTOMER_AUTHORISED"]
    assert_rejected(workflow, "CUSTOMER_AUTHORISED")


def test_an_amount_that_is_no_longer_refundable_is_rejected():
    made = make_duplicate_order()
    workflow = proposed(made.order)
    make_entry(payment=made.refunded, kind="REFUND", amount_minor_units=1)
    assert failed(validate(workflow)) == ["AMOUNT_MATCHES_LEDGER"]
    assert RuleResult.objects.get(rule="AMOUNT_MATCHES_LEDGER").inputs["refundable_minor_units"] == 4998
    assert_rejected(workflow, "AMOUNT_MATCHES_LEDGER")


def test_a_policy_that_ended_meanwhile_is_not_applied():
    order = make_duplicate_order().order
    make_policy(merchant=order.merchant, effective_to=NOW + timedelta(minutes=5), version=6)
    workflow = proposed(order)
    assert PolicyVersion.objects.get(pk=workflow.policy_id).version == 6
    assert failed(validate(workflow, now=NOW + timedelta(minutes=5))) == ["POLICY_RULES"]
    assert_rejected(workflow, "POLICY_RULES")


@pytest.mark.failure("F114")
@pytest.mark.parametrize(("seconds", "in_time"), [(-1, True), (0, False), (1, False)])
def test_without_a_zone_the_age_of_a_purchase_is_time_that_passed_and_no_calendar(seconds, in_time):
    """Bought at 23:30 in Los Angeles; day 90 of the policy ends 91 times 24 hours later, wherever one asks."""
    pacific = ZoneInfo("America/Los_Angeles")
    bought = datetime(2026, 8, 30, 23, 30, tzinfo=pacific)
    order = make_duplicate_order().order
    Order.objects.filter(pk=order.pk).update(placed_at=bought)
    workflow = proposed(order)
    asked = (bought.astimezone(ZoneInfo("UTC")) + timedelta(days=91, seconds=seconds)).astimezone(pacific)

    results = validate(workflow, now=asked)

    assert failed(results) == ([] if in_time else ["POLICY_RULES"])
    assert RuleResult.objects.get(rule="POLICY_RULES").inputs["age_days"] == (90 if in_time else 91)


def test_a_command_is_judged_once():
    workflow = proposed()
    validate(workflow)
    with nothing_written(), pytest.raises(IntegrityError, match="rule_once_per_command"):
        validate(workflow)
