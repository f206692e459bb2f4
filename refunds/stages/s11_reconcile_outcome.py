"""Stage 11. Reconcile ambiguous responses.

Input: an operation whose outcome outside is not known, or not final.
Output: a recorded check with every source asked and what it proved; the operation moved by positive evidence.
Failure destination: nothing is found in time -> MANUAL_REVIEW with a case; the amount stays reserved, and nothing
is ever sent from here.
"""

from datetime import datetime, timedelta

from django.db.models import Max

from ledger.actors import Actor
from ledger.transitions import Why
from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import Gateway, LookupAnswer
from refunds.gateways.registry import response_window
from refunds.models import ReconciliationCheck, RefundOperation
from refunds.stages.s12_commit_evidence import Evidence, evidence_transaction
from refunds.states import CheckVerdict, OperationState
from refunds.verdicts import Judgement, OperationFacts, judge, state_after_check

STAGE = "RECONCILE_OUTCOME"
_ACTOR = Actor.system(f"stage:{STAGE}")
_CHECKED = frozenset({OperationState.STATUS_UNKNOWN, OperationState.PROVIDER_PENDING})


def lose_overdue_answer(*, operation_id: str, now: datetime) -> bool:
    """Move SUBMITTED to STATUS_UNKNOWN once its answer is overdue; False if it was answered meanwhile."""
    found = RefundOperation.objects.only("workflow_id").get(pk=operation_id)
    with evidence_transaction(workflow_id=found.workflow_id, operation_id=operation_id, now=now) as evidence:
        operation = evidence.operation
        if operation is None or operation.state != OperationState.SUBMITTED:
            return False
        newest = operation.attempts.order_by("-number").first()
        if newest is None or newest.started_at + response_window() > now:
            return False
        why = Why(_ACTOR, STAGE, "ANSWER_OVERDUE", evidence={"gateway_attempt_id": newest.pk})
        evidence.move_operation(OperationState.STATUS_UNKNOWN, why, next_check_at=now)
        return True


def reconcile_outcome(
    *, operation_id: str, gateway: Gateway, contract: ProviderContract, now: datetime
) -> CheckVerdict | None:
    """Look the refund up, record the check, and move the operation by what it proves; None if not in doubt."""
    operation = RefundOperation.objects.get(pk=operation_id)
    if not _is_due(operation, now):
        return None
    lookups = _ask(operation, gateway)
    judgement = judge(
        OperationFacts(
            operation_id=operation.pk,
            amount_minor_units=operation.amount_minor_units,
            currency=operation.currency,
            processor_reference=operation.processor_reference,
        ),
        lookups,
    )
    with evidence_transaction(
        workflow_id=operation.workflow_id,
        operation_id=operation_id,
        payment_ids=[operation.payment_id],
        now=now,
    ) as evidence:
        locked = evidence.operation
        if locked is None or locked.checks_made != operation.checks_made or not _is_due(locked, now):
            return None  # another worker recorded a check meanwhile; what this one saw is no newer
        _record(evidence, locked, lookups, judgement, contract)
    return judgement.verdict


def _is_due(operation: RefundOperation, now: datetime) -> bool:
    """Tell whether a look-up is wanted now; a nudge that arrives twice must not use up the contract's checks."""
    due = operation.next_check_at
    return operation.state in _CHECKED and due is not None and due <= now


def _ask(operation: RefundOperation, gateway: Gateway) -> tuple[LookupAnswer, ...]:
    """Ask the sources that can know: the payment's refunds, and the refund itself once its id is known."""
    listed = gateway.list_refunds(payment_reference=operation.payment_reference, account=operation.account)
    if operation.processor_reference is None:
        return (listed,)
    fetched = gateway.retrieve_refund(
        processor_reference=operation.processor_reference, account=operation.account
    )
    return (listed, fetched)


def _record(
    evidence: Evidence,
    operation: RefundOperation,
    lookups: tuple[LookupAnswer, ...],
    judgement: Judgement,
    contract: ProviderContract,
) -> None:
    number = operation.checks_made + 1
    reference = judgement.refund.processor_reference if judgement.refund else ""
    ReconciliationCheck.objects.create(
        operation=operation,
        number=number,
        verdict=judgement.verdict,
        sources=[_source(lookup) for lookup in lookups],
        explanation=list(judgement.explanation),
        processor_reference=reference,
        at=evidence.now,
    )
    why = Why(
        _ACTOR,
        STAGE,
        judgement.verdict,
        operation.policy_version,
        {"check": number, "processor_reference": reference, "explanation": list(judgement.explanation)},
    )
    target = state_after_check(OperationState(operation.state), judgement.verdict)
    wait = _next_wait(contract, operation, judgement)
    if target is not None:
        due = evidence.now + wait if target is OperationState.PROVIDER_PENDING and wait else None
        evidence.move_operation(
            target, why, processor_reference=reference, checks_made=number, next_check_at=due
        )
    elif wait is None:
        evidence.move_operation(OperationState.MANUAL_REVIEW, why, checks_made=number)
    else:
        operation.checks_made, operation.next_check_at = number, evidence.now + wait
        operation.claimed_until = None
        operation.save(update_fields=["checks_made", "next_check_at", "claimed_until"])


def _next_wait(
    contract: ProviderContract, operation: RefundOperation, judgement: Judgement
) -> timedelta | None:
    """Return the growing wait before the next check, or None when people must take over.

    A refund that the provider itself calls pending is looked at for as long as it is pending. Only checks in a row
    that found nothing count: one failed look-up after days of "pending" is no reason to stop looking.
    """
    intervals = contract.reconciliation_intervals
    if judgement.contradictory:
        return None
    if judgement.verdict is CheckVerdict.CONFIRMED_PENDING:
        return intervals[min(operation.checks_made, len(intervals) - 1)]
    inconclusive = operation.checks_made + 1 - _last_conclusive_check(operation)
    return intervals[inconclusive - 1] if inconclusive <= len(intervals) else None


def _last_conclusive_check(operation: RefundOperation) -> int:
    """Return the number of the last earlier check that found the refund, or 0."""
    found = operation.checks.filter(verdict=CheckVerdict.CONFIRMED_PENDING).aggregate(last=Max("number"))
    return found["last"] or 0


def _source(lookup: LookupAnswer) -> dict[str, object]:
    return {
        "surface": lookup.surface,
        "complete": lookup.complete,
        "refunds": [refund.processor_reference for refund in lookup.refunds],
        "http_status": lookup.http_status,
        "error_code": lookup.error_code,
        "attempts": lookup.attempts,
    }
