"""Workflows and operations in a wanted state, reached along legal jumps through ``ledger.transitions`` alone."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from approvals.cases import close_cases, open_case
from approvals.models import ApprovalRequest
from approvals.services import grant_by_rule, request_approval
from approvals.states import ApprovalState, CaseKind
from ledger.actors import Actor
from ledger.duplicates import find_duplicate
from ledger.ids import new_id, new_reference
from ledger.models import ErasableText, Order
from ledger.snapshot import LedgerSnapshot
from ledger.transitions import Why, commit_transition, create_with_event, lock_row
from policies.models import PolicyVersion
from policies.rules import parse_rules
from refunds.evidence.source import ledger_source
from refunds.models import CustomerMessage, Proposal, RefundOperation, RefundWorkflow, RuleResult
from refunds.proposers.check_results import CheckRule
from refunds.states import (
    HUMAN_WORKFLOW_STATES,
    TERMINAL_WORKFLOW_STATES,
    OperationState,
    WorkflowState,
    coupled_workflow_state,
)
from tests.factories.commands import (
    ANSWERS,
    WHY,
    add_answer,
    add_attempt,
    add_check,
    command_to_approve,
    create_operation,
)
from tests.factories.facts import NOW, make_duplicate_order, make_policy

_W, _O = WorkflowState, OperationState
_DECIDED = (_W.EVIDENCE_VERIFIED, _W.ACTION_PROPOSED, _W.PROPOSAL_VALIDATED)
_WORKFLOW_ROUTES: dict[WorkflowState, tuple[WorkflowState, ...]] = {
    _W.EVIDENCE_PENDING: (),
    _W.EVIDENCE_VERIFIED: _DECIDED[:1],
    _W.ACTION_PROPOSED: _DECIDED[:2],
    _W.PROPOSAL_VALIDATED: _DECIDED,
    _W.PROPOSAL_REJECTED: (*_DECIDED[:2], _W.PROPOSAL_REJECTED),
    _W.REQUIRES_HUMAN_APPROVAL: (*_DECIDED, _W.REQUIRES_HUMAN_APPROVAL),
    _W.APPROVED: (*_DECIDED, _W.APPROVED),
    _W.EXECUTING: (*_DECIDED, _W.APPROVED, _W.EXECUTING),
    _W.MANUAL_REVIEW: (*_DECIDED[:1], _W.MANUAL_REVIEW),
    _W.COMPLETED: (*_DECIDED, _W.APPROVED, _W.EXECUTING, _W.COMPLETED),
    _W.NO_REFUND_DUE: (*_DECIDED[:1], _W.NO_REFUND_DUE),
    _W.REJECTED: (*_DECIDED, _W.REQUIRES_HUMAN_APPROVAL, _W.REJECTED),
    _W.WITHDRAWN: (_W.WITHDRAWN,),
}
_OPERATION_ROUTES: dict[OperationState, tuple[OperationState, ...]] = {
    _O.CREATED: (),
    _O.SUBMITTED: (_O.SUBMITTED,),
    _O.PROVIDER_PENDING: (_O.SUBMITTED, _O.PROVIDER_PENDING),
    _O.STATUS_UNKNOWN: (_O.SUBMITTED, _O.STATUS_UNKNOWN),
    _O.CONFIRMED_ABSENT: (_O.SUBMITTED, _O.STATUS_UNKNOWN, _O.CONFIRMED_ABSENT),
    _O.MANUAL_REVIEW: (_O.SUBMITTED, _O.STATUS_UNKNOWN, _O.MANUAL_REVIEW),
    _O.COMPLETED: (_O.SUBMITTED, _O.COMPLETED),
    _O.REJECTED: (_O.SUBMITTED, _O.REJECTED),
    _O.FAILED: (_O.SUBMITTED, _O.FAILED),
    _O.CANCELLED: (_O.CANCELLED,),
}


def open_workflow(
    *, order: Order, message: str = "I was charged twice.", now: datetime = NOW, **columns: Any
) -> RefundWorkflow:
    """Return a customer's new request about their order, in EVIDENCE_PENDING."""
    customer = order.customer
    workflow = RefundWorkflow(
        id=new_id("wf"),
        reference=new_reference(),
        merchant=order.merchant,
        customer=customer,
        order=order,
        problem="DUPLICATE_CHARGE",
        open_slot=f"{customer.pk}:{order.pk}",
        created_at=now,
        **columns,
    )
    actor = Actor.customer(customer.user_id) if customer.user_id else Actor.system("test")
    with transaction.atomic():
        create_with_event(workflow, Why(actor=actor, stage="OPEN_WORKFLOW", reason="REQUESTED"), now=now)
        add_message(workflow, message, now=now)
    return workflow


def workflow_in_state(
    state: WorkflowState,
    *,
    order: Order | None = None,
    message: str = "I was charged twice.",
    reason: str = "TEST",
    approvals_needed: int = 1,
    now: datetime = NOW,
) -> RefundWorkflow:
    """Return a workflow in ``state`` with the rows that its way there leaves; the order is a duplicate by default.

    ``reason`` stands in the last event and, for states that people own, on the case.
    """
    workflow = open_workflow(order=order or make_duplicate_order(now=now).order, message=message, now=now)
    for step in _WORKFLOW_ROUTES[state]:
        move_workflow(
            workflow,
            step,
            now=now,
            reason=reason if step is state else "TEST",
            approvals_needed=approvals_needed,
        )
    return RefundWorkflow.objects.get(pk=workflow.pk)


def operation_in_state(
    state: OperationState, *, order: Order | None = None, reason: str = "TEST", now: datetime = NOW
) -> RefundOperation:
    """Return an operation in ``state`` with its attempt, answer and checks; its workflow is moved by the coupling."""
    workflow = workflow_in_state(_W.EXECUTING, order=order, now=now)
    operation = RefundOperation.objects.get(workflow=workflow)
    for step in _OPERATION_ROUTES[state]:
        move_operation(operation, step, now=now, reason=reason)
    return RefundOperation.objects.get(pk=operation.pk)


def move_workflow(
    workflow: RefundWorkflow,
    to: WorkflowState,
    *,
    now: datetime = NOW,
    reason: str = "TEST",
    approvals_needed: int = 1,
    **changes: Any,
) -> None:
    """Move a workflow one legal jump, with the rows and the case that belong to the new state."""
    with transaction.atomic():
        locked = lock_row(RefundWorkflow, workflow.pk)
        if to is _W.EXECUTING and not locked.operations.exists():
            create_operation(locked, now)
        elif to is _W.COMPLETED and locked.operations.filter(state=_O.CREATED).exists():
            operation = locked.operations.get(state=_O.CREATED)
            move_operation(operation, _O.SUBMITTED, now=now)
            move_operation(operation, _O.COMPLETED, now=now)
            return
        elif (leave_rows := _ROWS_OF.get(to)) is not None:
            changes = leave_rows(locked, now, approvals_needed) | changes
        if to in TERMINAL_WORKFLOW_STATES:
            changes |= {"open_slot": None}
        why = Why(
            actor=Actor.system("test"), stage="TEST", reason=reason, policy_version=locked.policy_version
        )
        left = locked.state
        commit_transition(locked, to, why, now=now, **changes)
        if left in HUMAN_WORKFLOW_STATES:
            close_cases(subject_id=locked.pk, because=reason, now=now)
        if to in HUMAN_WORKFLOW_STATES:
            open_case(
                kind=_case_kind(locked),
                subject_id=locked.pk,
                merchant_id=locked.merchant_id,
                reason=reason,
                now=now,
            )


def move_operation(
    operation: RefundOperation,
    to: OperationState,
    *,
    now: datetime = NOW,
    reason: str = "TEST",
    **changes: Any,
) -> None:
    """Move an operation one legal jump with its attempt, answer or check, and its workflow by the coupling."""
    with transaction.atomic():
        workflow = lock_row(RefundWorkflow, operation.workflow_id)
        locked = lock_row(RefundOperation, operation.pk)
        left = OperationState(locked.state)
        if to is _O.SUBMITTED:
            add_attempt(locked, now=now)
        elif left is _O.SUBMITTED and to in ANSWERS:
            add_answer(locked, to, now)
        elif left is _O.STATUS_UNKNOWN:
            add_check(locked, now=now)
        if to is _O.COMPLETED:
            changes.setdefault("processor_reference", f"re_{locked.pk[-12:].lower()}")
        commit_transition(
            locked, to, Why(actor=Actor.system("test"), stage="TEST", reason=reason), now=now, **changes
        )
        state = WorkflowState(workflow.state)
        target = coupled_workflow_state(state, to, left=left)
        if target is not state:
            move_workflow(workflow, target, now=now, reason=reason)


def add_message(workflow: RefundWorkflow, body: str, *, now: datetime = NOW) -> CustomerMessage:
    """Return something more that the customer wrote."""
    text = ErasableText.keep(body, now=now)
    return CustomerMessage.objects.create(workflow=workflow, text=text, text_sha256=text.sha256, at=now)


def _case_kind(workflow: RefundWorkflow) -> CaseKind:
    if workflow.state == _W.REQUIRES_HUMAN_APPROVAL:
        return CaseKind.APPROVAL
    return CaseKind.FINANCE if workflow.operations.exists() else CaseKind.INVESTIGATION


def _evidence(workflow: RefundWorkflow, now: datetime, _needed: int) -> dict[str, Any]:
    policy = PolicyVersion.objects.filter(merchant_id=workflow.merchant_id).first() or make_policy(
        merchant=workflow.merchant
    )
    rules = parse_rules(policy.rules)
    snapshot = _snapshot(workflow, now)
    found = find_duplicate(
        order=snapshot.order,
        taken_at=now,
        now=now,
        max_snapshot_age=rules.snapshot_max_age,
        window=rules.duplicate_window,
        open_operation_payment_ids=frozenset(),
    )
    return {
        "policy_id": policy.pk,
        "policy_version": policy.label,
        "snapshot": snapshot.as_json(),
        "snapshot_sha256": snapshot.facts_sha256(),
        "snapshot_taken_at": now,
        "finding": found.finding,
        "reason_code": found.reason_code,
        "finding_evidence": list(found.evidence),
        "refund_payment_id": found.refund_payment_id,
        "kept_payment_id": found.kept_payment_id,
        "amount_minor_units": found.amount_minor_units,
        "currency": found.currency or "",
        "command_number": workflow.command_number + 1,
    }


def _snapshot(workflow: RefundWorkflow, now: datetime) -> LedgerSnapshot:
    """Read the order's rows as the product does, and take them as confirmed just now."""
    read = ledger_source().read_order(
        merchant_id=workflow.merchant_id,
        customer_id=workflow.customer_id,
        order_id=workflow.order_id,
        now=now,
    )
    return replace(read, taken_at=now)


def _proposal(workflow: RefundWorkflow, now: datetime, _needed: int) -> dict[str, Any]:
    Proposal.objects.create(
        workflow=workflow,
        command_number=workflow.command_number,
        proposer="deterministic",
        recommended_action="issue_refund",
        reason_code="verified_duplicate_charge",
        requires_human_review=False,
        draft=ErasableText.keep("We found two charges for this order.", now=now),
        output_class="VALID",
        at=now,
    )
    return {}


def _rule_results(workflow: RefundWorkflow, now: datetime, _needed: int) -> dict[str, Any]:
    for rule in CheckRule:
        RuleResult.objects.create(
            workflow=workflow,
            command_number=workflow.command_number,
            rule=rule,
            rule_version="1",
            result="PASS",
            outcome="CONTINUE",
            inputs={"amount_minor_units": workflow.amount_minor_units},
            policy_version=workflow.policy_version,
            at=now,
        )
    return {}


def _ask_people(workflow: RefundWorkflow, now: datetime, needed: int) -> dict[str, Any]:
    request_approval(command_to_approve(workflow), approvals_needed=needed, rule="", why=WHY, now=now)
    return {}


def _approve(workflow: RefundWorkflow, now: datetime, _needed: int) -> dict[str, Any]:
    pending = ApprovalRequest.objects.filter(subject_id=workflow.pk, state=ApprovalState.PENDING).first()
    if pending is None:
        rule = request_approval(
            command_to_approve(workflow), approvals_needed=0, rule="AUTO_LIMIT", why=WHY, now=now
        )
        grant_by_rule(rule, WHY, now=now)
    else:
        granted = lock_row(ApprovalRequest, pending.pk)
        commit_transition(granted, ApprovalState.GRANTED, WHY, now=now, expires_at=now + timedelta(hours=24))
    return {}


def _close_approval(workflow: RefundWorkflow, now: datetime, _needed: int) -> dict[str, Any]:
    for pending in ApprovalRequest.objects.filter(subject_id=workflow.pk, state=ApprovalState.PENDING):
        commit_transition(lock_row(ApprovalRequest, pending.pk), ApprovalState.REJECTED, WHY, now=now)
    return {}


_ROWS_OF: dict[WorkflowState, Callable[[RefundWorkflow, datetime, int], dict[str, Any]]] = {
    _W.EVIDENCE_VERIFIED: _evidence,
    _W.ACTION_PROPOSED: _proposal,
    _W.PROPOSAL_VALIDATED: _rule_results,
    _W.REQUIRES_HUMAN_APPROVAL: _ask_people,
    _W.APPROVED: _approve,
    _W.REJECTED: _close_approval,
}
