"""The evidence of one case as plain values, in a fixed number of queries however much there is of it."""

from collections.abc import Iterable
from datetime import datetime

from approvals.models import ApprovalEvent, ApprovalRequest, ReviewCase
from ledger.models import LedgerEntry
from policies.models import PolicyVersion
from policies.rules import PolicyRulesError, parse_rules
from refunds.models import RefundOperation, RefundWorkflow, RefundWorkflowEvent, RuleResult
from refunds.selectors.review_charges import LedgerRow, changes_since, compare_charges, money_text
from refunds.selectors.review_history import list_operations, list_receipts, list_timeline, text_pairs
from refunds.selectors.review_lease import lease_of, names_of, promise_of
from refunds.selectors.review_proposals import approvals_of, list_proposals
from refunds.selectors.review_records import (
    ApprovalFacts,
    CaseEvidence,
    FindingFacts,
    LedgerFacts,
    OrderFacts,
    PolicyFacts,
    Reviewer,
    RuleFact,
)
from refunds.selectors.review_words import get_proposal, list_words
from refunds.states import HUMAN_WORKFLOW_STATES, Origin


def get_case(*, reviewer: Reviewer, ticket: int, now: datetime) -> CaseEvidence | None:
    """Return one case with its evidence; None alike for a missing case and one of another merchant."""
    case = (
        ReviewCase.objects.filter(merchant_id__in=reviewer.merchant_ids, ticket=ticket)
        .select_related("merchant")
        .first()
    )
    if case is None:
        return None
    workflow = (
        RefundWorkflow.objects.select_related("order", "customer", "refund_payment", "kept_payment")
        .filter(pk=case.subject_id)
        .first()
    )  # none: a case about the books, see ``review_books``
    return _evidence(case, workflow, reviewer, now) if workflow is not None else None


def _evidence(case: ReviewCase, workflow: RefundWorkflow, reviewer: Reviewer, now: datetime) -> CaseEvidence:
    operations = list(RefundOperation.objects.filter(workflow=workflow).order_by("created_at", "pk"))
    approvals, proposals = approvals_of(workflow.pk, [operation.pk for operation in operations])
    decided = [*approvals, *proposals]
    votes = list(ApprovalEvent.objects.filter(approval__in=decided).order_by("at", "pk"))
    events = list(RefundWorkflowEvent.objects.filter(workflow=workflow).order_by("at", "pk"))
    starter = events[0].actor_id if workflow.origin == Origin.STAFF and events else ""
    names = names_of([case.claimed_by, starter])
    me = f"user:{reviewer.user_id}"
    return CaseEvidence(
        ticket=case.ticket,
        kind=case.kind,
        reasons=_reasons(case, events),
        opened_at=case.opened_at,
        waiting=(case.closed_at or now) - case.opened_at,
        closed_at=case.closed_at,
        closed_because=case.closed_because,
        merchant_id=case.merchant_id,
        merchant_name=case.merchant.name,
        workflow_id=workflow.pk,
        reference=workflow.reference,
        state=str(workflow.state),
        repeat_contacts=workflow.repeat_contacts,
        about_reviewer=workflow.customer.user_id == reviewer.user_id or starter == me,
        about_customer_self=workflow.customer.user_id == reviewer.user_id,
        started_by=names.get(starter, starter),
        promise=promise_of(case, now),
        lease=lease_of(case, user_id=reviewer.user_id, names=names, now=now),
        amount=_amount(workflow.amount_minor_units, workflow.currency),
        order=_order(workflow),
        ledger=_ledger(workflow, operations),
        finding=_finding(workflow),
        policy=_policy(workflow),
        rules=_rules(workflow),
        approval=_approval(approvals[0], votes, reviewer) if approvals else None,
        operations=list_operations(operations, list_proposals(proposals, reviewer)),
        timeline=list_timeline(events, decided, votes, operations),
        receipts=list_receipts(workflow),
        words=list_words(workflow),
        proposal=get_proposal(workflow),
    )


def _reasons(case: ReviewCase, events: Iterable[RefundWorkflowEvent]) -> tuple[str, ...]:
    """Return every code that the event which opened the case gives, the case's own reason first."""
    codes = [case.reason]
    for event in events:
        if event.to_state in HUMAN_WORKFLOW_STATES and event.at == case.opened_at:
            codes += [str(code) for code in event.evidence.get("why_a_person", [])]
    return tuple(dict.fromkeys(code for code in codes if code))


def _amount(amount_minor_units: int | None, currency: str) -> str:
    return "" if amount_minor_units is None else money_text(amount_minor_units, currency)


def _order(workflow: RefundWorkflow) -> OrderFacts | None:
    order = workflow.order
    if order is None:
        return None
    return OrderFacts(
        number=order.number,
        description=order.description,
        product_type=order.product_type,
        status=order.status,
        total=_amount(order.total_minor_units, order.currency),
        placed_at=order.placed_at,
        customer_reference=workflow.customer.reference,
    )


def _ledger(workflow: RefundWorkflow, operations: Iterable[RefundOperation]) -> LedgerFacts | None:
    if workflow.snapshot is None or workflow.snapshot_taken_at is None:
        return None
    entries = LedgerEntry.objects.filter(payment__order=workflow.order).select_related("payment")
    rows_now = [
        LedgerRow(
            payment_reference=entry.payment.processor_reference,
            reference=entry.processor_reference,
            kind=entry.kind,
            status=entry.status,
            amount_minor_units=entry.amount_minor_units,
            currency=entry.currency,
        )
        for entry in entries
    ]
    return LedgerFacts(
        source=workflow.snapshot["source"],
        taken_at=workflow.snapshot_taken_at,
        snapshot_sha256=workflow.snapshot_sha256,
        charges=compare_charges(
            workflow.snapshot,
            kept_payment_id=workflow.kept_payment_id,
            target_payment_id=workflow.refund_payment_id,
        ),
        changes=(
            *changes_since(
                workflow.snapshot,
                rows_now,
                own_refunds=frozenset(o.processor_reference for o in operations if o.processor_reference),
            ),
            *_frozen(entries),
        ),
    )


def _frozen(entries: Iterable[LedgerEntry]) -> tuple[str, ...]:
    """Return one line per charge of which facts say that more is gone than was captured."""
    charges = {entry.payment.processor_reference for entry in entries if entry.payment.frozen_at is not None}
    return tuple(
        f"Charge {reference} is frozen: more of it is gone than was captured, and nothing of it is refunded."
        for reference in sorted(charges)
    )


def _finding(workflow: RefundWorkflow) -> FindingFacts | None:
    if not workflow.finding:
        return None
    target, kept = workflow.refund_payment, workflow.kept_payment
    return FindingFacts(
        finding=workflow.finding,
        reason_code=workflow.reason_code,
        proving_rows=tuple(workflow.finding_evidence),
        target_reference=target.processor_reference if target else "",
        kept_reference=kept.processor_reference if kept else "",
    )


def _policy(workflow: RefundWorkflow) -> PolicyFacts | None:
    """Return the version with its limit in the command's currency, or the order's while there is no command."""
    if not workflow.policy_id:
        return None
    version = PolicyVersion.objects.get(pk=workflow.policy_id)
    currency = workflow.currency or (workflow.order.currency if workflow.order else "")
    try:
        limit = parse_rules(version.rules).auto_limit(currency)
    except PolicyRulesError:
        limit = None
    return PolicyFacts(
        label=version.label,
        effective_from=version.effective_from,
        effective_to=version.effective_to,
        source_reference=version.source_reference,
        approved_by=version.approved_by,
        auto_limit=_amount(limit, currency),
    )


def _rules(workflow: RefundWorkflow) -> tuple[RuleFact, ...]:
    """Return the checks of the newest command that was checked, in the order in which they ran."""
    found = list(RuleResult.objects.filter(workflow=workflow).order_by("-command_number", "pk"))
    newest = found[0].command_number if found else 0
    return tuple(
        RuleFact(
            rule=result.rule,
            version=result.rule_version,
            result=result.result,
            outcome=result.outcome,
            inputs=text_pairs(result.inputs),
            policy_version=result.policy_version,
        )
        for result in found
        if result.command_number == newest
    )


def _approval(
    approval: ApprovalRequest, events: Iterable[ApprovalEvent], reviewer: Reviewer
) -> ApprovalFacts:
    me = f"user:{reviewer.user_id}"
    voters = {event.voter_id for event in events if event.approval_id == approval.pk and event.voter_id}
    command = approval.command
    return ApprovalFacts(
        approval_id=approval.pk,
        state=str(approval.state),
        needed=approval.approvals_needed,
        votes=len(voters),
        fingerprint=approval.request_fingerprint,
        maker_id=approval.maker_id,
        rule=approval.rule,
        policy_version=approval.policy_version,
        amount=_amount(int(command["amount_minor_units"]), command["currency"]),
        currency=command["currency"],
        target=command["payment"],
        valid_for_hours=approval.valid_for_hours,
        expires_at=approval.expires_at,
        by_reviewer=approval.maker_id == me,
        voted_by_reviewer=me in voters,
    )
