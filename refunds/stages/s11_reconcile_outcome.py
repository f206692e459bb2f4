"""Stage 11. Reconcile ambiguous responses.

Input: an operation whose outcome outside is not known, or not final.
Output: a recorded check with every source asked and what it proved; the operation moved by positive evidence, or by
absence proven by the contract's whole rule, after which stage 10 may send the same command under the same key.
Failure destination: nothing is found in time -> MANUAL_REVIEW with a case; the amount stays reserved, and nothing
is ever sent from here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max

from ledger.actors import Actor
from ledger.transitions import Why
from refunds.evidence.attempts import attempts_of
from refunds.evidence.booking import adopt_refunds, book_refund
from refunds.evidence.given import newest_given
from refunds.evidence.known_references import known_of_others
from refunds.evidence.late_checks import next_late_check
from refunds.evidence.policy import policy_of
from refunds.evidence.provider_facts import events_about, settlements_about
from refunds.evidence.remaining import conservation_of
from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import EventFact, Gateway, LookupAnswer, ProviderStatus, SettlementFact
from refunds.gateways.registry import response_window, uses_live_mode
from refunds.models import ReconciliationCheck, RefundOperation
from refunds.stages.s12_commit_evidence import Evidence, evidence_transaction
from refunds.states import CheckCause, CheckVerdict, OperationState
from refunds.verdicts import MAX_EXECUTIONS, AttemptFacts, Judgement, OperationFacts, judge, state_after_check

STAGE = "RECONCILE_OUTCOME"
REFUNDED_ELSEWHERE = "REFUNDED_ELSEWHERE"
_ACTOR = Actor.system(f"stage:{STAGE}")
_ASKED_FOR = frozenset({CheckCause.WEBHOOK, CheckCause.PERSON})
_CHECKED = frozenset({OperationState.STATUS_UNKNOWN, OperationState.PROVIDER_PENDING})
_WITH_PEOPLE = frozenset({OperationState.MANUAL_REVIEW})
_NOT_THERE = frozenset({OperationState.CONFIRMED_ABSENT, OperationState.REJECTED})
_SHOWN = frozenset(
    {CheckVerdict.CONFIRMED_COMPLETED, CheckVerdict.CONFIRMED_PENDING, CheckVerdict.CONFIRMED_FAILED}
)
_CONCLUSIVE = (CheckVerdict.CONFIRMED_PENDING, CheckVerdict.CONFIRMED_ABSENT)


def lose_overdue_answer(*, operation_id: str, now: datetime) -> bool:
    """Move SUBMITTED to STATUS_UNKNOWN once its answer is overdue; False if it was answered meanwhile."""
    workflow_id = RefundOperation.objects.values_list("workflow_id", flat=True).get(pk=operation_id)
    with evidence_transaction(workflow_id=workflow_id, operation_id=operation_id, now=now) as evidence:
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
    *,
    operation_id: str,
    gateway: Gateway,
    contract: ProviderContract,
    now: datetime,
    cause: CheckCause = CheckCause.SCHEDULED,
    seen_reference: str = "",
) -> CheckVerdict | None:
    """Look the refund up, record the check, and move the operation by what it proves.

    A scheduled check looks only at what is in doubt and due. An event of the provider (``seen_reference`` is the
    refund it names) or a person may ask about any operation, and uses up none of the contract's checks. None: not
    due, or another check was recorded meanwhile; an event must then be looked at again.
    """
    operation = RefundOperation.objects.get(pk=operation_id)
    if not _is_wanted(operation, cause, now):
        return None
    told = _Told.of(operation, contract)
    lookups = _ask(operation, gateway, seen_reference or newest_given(operation) or told.reference)
    with evidence_transaction(
        workflow_id=operation.workflow_id,
        operation_id=operation_id,
        payment_ids=[operation.payment_id],
        now=now,
    ) as evidence:
        locked = evidence.operation
        if (
            locked is None
            or locked.checks_made != operation.checks_made
            or not _is_wanted(locked, cause, now)
        ):
            return None  # another worker recorded a check meanwhile; what this one saw is no newer
        attempts = attempts_of(operation_id)
        told = _Told.of(locked, contract)  # an event may have come while the provider was asked
        judgement = judge(
            _facts(locked, attempts, lookups),
            lookups,
            contract=contract,
            now=now,
            events=told.events,
            settlements=told.settlements,
        )
        adopt_refunds(evidence.payments, lookups, now=now)
        _Check(evidence, locked, cause, lookups, told, judgement, attempts, contract).commit()
    return judgement.verdict


def _is_wanted(operation: RefundOperation, cause: CheckCause, now: datetime) -> bool:
    """Tell whether a look-up is wanted now; a nudge that arrives twice must not use up the contract's checks."""
    if cause in _ASKED_FOR:
        return True
    due, states = operation.next_check_at, _WITH_PEOPLE if cause is CheckCause.LATE else _CHECKED
    return operation.state in states and due is not None and due <= now


def _ask(operation: RefundOperation, gateway: Gateway, seen_reference: str) -> tuple[LookupAnswer, ...]:
    """Ask the sources that can know: the payment's refunds, and the refund itself once its id is known."""
    listed = gateway.list_refunds(payment_reference=operation.payment_reference, account=operation.account)
    reference = operation.processor_reference or seen_reference
    if not reference:
        return (listed,)
    return (listed, gateway.retrieve_refund(processor_reference=reference, account=operation.account))


def _facts(
    operation: RefundOperation, attempts: tuple[AttemptFacts, ...], lookups: Sequence[LookupAnswer]
) -> OperationFacts:
    seen = {refund.processor_reference for lookup in lookups for refund in lookup.refunds}
    return OperationFacts(
        operation_id=operation.pk,
        amount_minor_units=operation.amount_minor_units,
        currency=operation.currency,
        processor_reference=operation.processor_reference,
        attempts=attempts,
        account=operation.account,
        livemode=uses_live_mode(),
        payment_reference=operation.payment_reference,
        references_of_others=known_of_others(operation, seen),
        captured_minor_units=_captured(operation) if attempts and attempts[-1].went_back_before else None,
    )


def _captured(operation: RefundOperation) -> int:
    return conservation_of(operation.payment_id, leaving_out_operation=operation.pk).captured


@dataclass(frozen=True, slots=True)
class _Told:
    """What the provider told without being asked: its events, and its settlement report."""

    events: tuple[EventFact, ...]
    settlements: tuple[SettlementFact, ...]

    @classmethod
    def of(cls, operation: RefundOperation, contract: ProviderContract) -> "_Told":
        return cls(events_about(operation, contract), settlements_about(operation))

    @property
    def reference(self) -> str:
        """The refund that was told of last: it is asked for by its own id as well."""
        return next(reversed([*_references(self.settlements), *_references(self.events)]), "")

    def as_sources(self) -> list[dict[str, object]]:
        told = {"events": _references(self.events), "settlement": _references(self.settlements)}
        return [
            {
                "surface": surface,
                "complete": True,
                "refunds": sorted(set(references)),
                "http_status": None,
                "error_code": None,
                "attempts": 0,
            }
            for surface, references in told.items()
            if references
        ]


def _references(facts: Sequence[EventFact | SettlementFact]) -> list[str]:
    return [fact.processor_reference for fact in facts]


@dataclass(frozen=True, slots=True)
class _Check:
    """One check under the operation's lock: recorded with what it asked, and acted on."""

    evidence: Evidence
    operation: RefundOperation
    cause: CheckCause
    lookups: tuple[LookupAnswer, ...]
    told: _Told
    judgement: Judgement
    attempts: tuple[AttemptFacts, ...]
    contract: ProviderContract

    def commit(self) -> None:
        """Keep the check, then move the operation, plan the next look, or hand it to people."""
        number, now = self.operation.checks_made + 1, self.evidence.now
        self._keep(number)
        target = self._target()
        if target is not None:
            self.evidence.policy_closes_on_rejection = target is OperationState.REJECTED and (
                policy_of(self.operation.policy_id).rules.closes_on_gateway_rejection
            )
            changes = {"checks_made": number, **self._due(target)}
            if self._reference and self.operation.processor_reference is None:
                changes["processor_reference"] = self._reference
            self.evidence.move_operation(target, self._why(number, target), **changes)
            return
        self.operation.checks_made = number
        if self._stands():
            # A source may have said meanwhile that it moved no money: the object itself is the last word.
            book_refund(self.operation, why=self._why(number, OperationState.COMPLETED), now=now)
        if self.operation.processor_reference is None and self.judgement.verdict in _SHOWN:
            self.operation.processor_reference = self._reference or None
        if self.cause is CheckCause.SCHEDULED:
            wait = self._next_wait()
            if wait is None:
                why = self._why(number, OperationState.MANUAL_REVIEW)
                self.evidence.move_operation(OperationState.MANUAL_REVIEW, why, checks_made=number)
                return
            self.operation.next_check_at = now + wait
            self.operation.claimed_until = None
        elif self.cause is CheckCause.LATE:
            self.operation.next_check_at = next_late_check(
                since=self.operation.updated_at, now=now, contract=self.contract
            )
            self.operation.claimed_until = None
        self.operation.save(
            update_fields=["checks_made", "processor_reference", "next_check_at", "claimed_until"]
        )

    def _stands(self) -> bool:
        """Tell whether a refund that was complete before is seen to be so still."""
        completed = self.operation.state == OperationState.COMPLETED
        return completed and self.judgement.verdict is CheckVerdict.CONFIRMED_COMPLETED

    @property
    def _reference(self) -> str:
        return self.judgement.refund.processor_reference if self.judgement.refund else ""

    def _target(self) -> OperationState | None:
        target = state_after_check(OperationState(self.operation.state), self.judgement)
        if self.cause in {CheckCause.WEBHOOK, CheckCause.LATE} and target in _NOT_THERE:
            # The provider itself just said that there is a refund; or people have it, and they say what is not there.
            return None
        executions = sum(attempt.may_have_executed for attempt in self.attempts)
        if target is OperationState.CONFIRMED_ABSENT and executions >= MAX_EXECUTIONS:
            return (
                None if self.operation.state == OperationState.MANUAL_REVIEW else OperationState.MANUAL_REVIEW
            )
        return target

    def _due(self, target: OperationState) -> dict[str, object]:
        if target is OperationState.CONFIRMED_ABSENT:
            return {"next_attempt_at": self.evidence.now, "next_check_at": None}
        if target is OperationState.STATUS_UNKNOWN:
            return {"next_check_at": self.evidence.now}
        if target is not OperationState.PROVIDER_PENDING:
            return {"next_check_at": None}
        wait = self._next_wait() or self.contract.reconciliation_intervals[-1]
        return {"next_check_at": self.evidence.now + wait}

    def _keep(self, number: int) -> None:
        ReconciliationCheck.objects.create(
            operation=self.operation,
            number=number,
            cause=self.cause,
            verdict=self.judgement.verdict,
            sources=[*(_source(lookup) for lookup in self.lookups), *self.told.as_sources()],
            explanation=list(self.judgement.explanation),
            processor_reference=self._reference,
            at=self.evidence.now,
        )

    def _why(self, number: int, target: OperationState) -> Why:
        """Explain the move; a refusal because somebody else refunded the payment says so."""
        elsewhere = target is OperationState.REJECTED and self._went_back_elsewhere()
        return Why(
            _ACTOR,
            STAGE,
            REFUNDED_ELSEWHERE if elsewhere else self.judgement.verdict,
            self.operation.policy_version,
            {
                "check": number,
                "cause": str(self.cause),
                "processor_reference": self._reference,
                "explanation": list(self.judgement.explanation),
            },
        )

    def _went_back_elsewhere(self) -> bool:
        """Tell whether refunds that succeeded, as the ledger now holds them, left nothing of the payment."""
        done = [r for lookup in self.lookups for r in lookup.refunds if r.status is ProviderStatus.SUCCEEDED]
        money = conservation_of(self.operation.payment_id, leaving_out_operation=self.operation.pk)
        return bool(done) and money.captured <= money.refunded

    def _next_wait(self) -> timedelta | None:
        """Return the growing wait before the next scheduled check, or None when people must take over.

        A refund that the provider itself calls pending is looked at for as long as it is pending. Only checks in a
        row that found nothing count: one failed look-up after days of "pending" is no reason to stop looking.
        """
        intervals = self.contract.reconciliation_intervals
        scheduled = self.operation.checks.filter(cause=CheckCause.SCHEDULED)
        if self.judgement.verdict is CheckVerdict.CONFIRMED_PENDING:
            return intervals[max(1, min(scheduled.count(), len(intervals))) - 1]
        last = (
            self.operation.checks.filter(verdict__in=_CONCLUSIVE).aggregate(last=Max("number"))["last"] or 0
        )
        inconclusive = scheduled.filter(number__gt=last).count()
        return intervals[inconclusive - 1] if inconclusive <= len(intervals) else None


def _source(lookup: LookupAnswer) -> dict[str, object]:
    return {
        "surface": lookup.surface,
        "complete": lookup.complete,
        "refunds": [refund.processor_reference for refund in lookup.refunds],
        "http_status": lookup.http_status,
        "error_code": lookup.error_code,
        "attempts": lookup.attempts,
    }
