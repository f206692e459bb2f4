"""Stage 10. Execute with a stable idempotency key: a refresh and three beats.

Input: a committed operation in CREATED, or in CONFIRMED_ABSENT while its key is safe to send again.
Output: one HTTP call, and the operation moved by what it taught.
Failure destination: something must be waited for -> nothing is sent, and it is tried again; a fact changed ->
nothing is sent and the approval is voided, or people decide where an earlier attempt may have executed; the answer
is lost -> STATUS_UNKNOWN, and only proven absence leads to another call.

Beat A commits the attempt before its first byte leaves. Beat B is the call, outside any transaction. Beat C
records the answer. A crash between A and C leaves an attempt without a response: that is what "unknown" means.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings

from approvals.models import ApprovalRequest
from approvals.states import ApprovalState
from ledger.actors import Actor
from ledger.ids import new_id
from ledger.sources.port import SourceUnavailable
from ledger.switches import GATEWAY_WRITES, is_on
from ledger.tracing import current_trace_id
from ledger.transitions import Why
from refunds.evidence.attempts import attempts_of
from refunds.evidence.policy import ApplicablePolicy, policy_of
from refunds.evidence.same_request import what_differs, why_not_again
from refunds.evidence.source import ledger_source
from refunds.evidence.standing import STALE, ApprovedTarget, what_changed
from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import AnswerClass, Gateway, GatewayAnswer, RefundCommand
from refunds.gateways.registry import get_contract, response_window, uses_live_mode
from refunds.models import GatewayAttempt, GatewayResponse, RefundOperation
from refunds.stages.s12_commit_evidence import Evidence, evidence_transaction
from refunds.states import ABANDONED_OPERATION_STATES, OPERATION_TABLE, OperationState, WorkflowState
from refunds.verdicts import (
    JUDGED_BY_EARLIER_ANSWERS,
    MAX_EXECUTIONS,
    AttemptFacts,
    safe_until,
    state_after_answer,
)

STAGE = "SUBMIT_REFUND"
WAIT = timedelta(seconds=30)
# While the provider cannot be reached, for as long as the approval stands.
LONGEST_WAIT = timedelta(minutes=15)
_TRIES_PER_STEP = 10
_ACTOR = Actor.system(f"stage:{STAGE}")
WRITES_OFF, ANOTHER_SUBMITTED, FROZEN = "GATEWAY_WRITES_OFF", "ANOTHER_SUBMITTED", "PAYMENT_FROZEN"
_WAITED_FOR = frozenset({WRITES_OFF, ANOTHER_SUBMITTED, FROZEN, STALE})
_EXECUTABLE = frozenset({OperationState.CREATED, OperationState.CONFIRMED_ABSENT})


@dataclass(frozen=True, slots=True)
class Begun:
    """Beat A committed an attempt: exactly one caller has this, and it must make the call."""

    attempt_id: str
    started_at: datetime
    command: RefundCommand


@dataclass(frozen=True, slots=True)
class NotBegun:
    """Beat A sent nothing; ``reason`` says why."""

    reason: str


def submit_refund(
    *, operation_id: str, gateway: Gateway, clock: Callable[[], datetime]
) -> AnswerClass | NotBegun:
    """Submit a committed operation once; ``clock`` is read before the call and again after it.

    The operation is read here unlocked, for what never changes about it: each beat locks and reads it as it is then.
    """
    found = RefundOperation.objects.select_related("workflow", "payment").get(pk=operation_id)
    refreshed = refresh_evidence(found=found, now=clock())
    begun = begin_attempt(found=found, gateway=gateway, clock=clock)
    if isinstance(begun, NotBegun):
        return begun if refreshed or begun.reason != STALE else NotBegun("SOURCE_UNAVAILABLE")
    if clock() >= begun.started_at + response_window():
        return NotBegun(
            "TOO_LATE_TO_SEND"
        )  # this process slept: by now recovery may have sent the same command
    answer = gateway.submit_refund(begun.command)
    record_answer(found=found, attempt_id=begun.attempt_id, answer=answer, now=clock())
    return answer.answer_class


def refresh_evidence(*, found: RefundOperation, now: datetime) -> bool:
    """Before the beats, outside any transaction: read the source again if what it confirmed is older than allowed.

    A source that is read keeps what it says in the ledger's tables, where beat A finds it under the locks.
    False: the source cannot be read now; beat A then finds the facts too old and waits, or ends what is over.
    """
    workflow, policy = found.workflow, policy_of(found.policy_id)
    confirmed_at = found.payment.refreshed_at
    if now - confirmed_at <= policy.rules.snapshot_max_age or workflow.order_id is None:
        return True
    read = ledger_source().read_order(
        merchant_id=workflow.merchant_id,
        customer_id=workflow.customer_id,
        order_id=workflow.order_id,
        now=now,
    )
    return not isinstance(read, SourceUnavailable)


def begin_attempt(
    *,
    found: RefundOperation,
    gateway: Gateway,
    contract: ProviderContract | None = None,
    clock: Callable[[], datetime],
) -> Begun | NotBegun:
    """Beat A: check everything again under the locks, insert the attempt, move to SUBMITTED, commit."""
    contract = contract or get_contract()
    payments = [pk for pk in (found.payment_id, found.workflow.kept_payment_id) if pk is not None]
    with evidence_transaction(
        workflow_id=found.workflow_id,
        operation_id=found.pk,
        payment_ids=payments,
        now=clock(),
        clock=clock,
    ) as evidence:
        operation = evidence.operation
        if operation is None or operation.state not in _EXECUTABLE:
            return NotBegun("NOT_EXECUTABLE")
        if operation.next_attempt_at is not None and operation.next_attempt_at > evidence.now:
            return NotBegun("NOT_DUE")
        attempts = attempts_of(operation.pk)
        over = _resending_is_over(evidence, operation, attempts, contract)
        if over is not None:
            _hand_over(evidence, operation, over)
            return NotBegun(over)
        changed = (
            _waits_for(evidence, operation)
            or _sibling_stands(evidence, operation)
            or _changed(evidence, operation, policy_of(operation.policy_id))
            # The facts bear it again, and people have not looked yet.
            or (FROZEN if evidence.is_frozen else None)
        )
        if changed in _WAITED_FOR:
            _wait(evidence, operation)
            return NotBegun(changed)
        if changed is not None:
            _void(evidence, operation, changed, attempts)
            return NotBegun(changed)
        return _begin(evidence, operation, gateway, number=len(attempts) + 1)


def record_answer(*, found: RefundOperation, attempt_id: str, answer: GatewayAnswer, now: datetime) -> None:
    """Beat C: keep what the call taught, and move the operation, unless something else moved it already."""
    policy = policy_of(found.policy_id)
    with evidence_transaction(
        workflow_id=found.workflow_id, operation_id=found.pk, payment_ids=[found.payment_id], now=now
    ) as evidence:
        operation = evidence.operation
        if operation is None:
            return
        evidence.policy_closes_on_rejection = policy.rules.closes_on_gateway_rejection
        _keep_response(attempt_id, answer, now)
        matters = answer.answer_class in JUDGED_BY_EARLIER_ANSWERS
        earlier = _earlier_answers(found.pk, attempt_id) if matters else []
        why = _why_answer(attempt_id, answer, policy)
        if _is_another_refund(evidence, operation, answer):
            if OPERATION_TABLE.allows(operation.state, OperationState.MANUAL_REVIEW):
                evidence.move_operation(OperationState.MANUAL_REVIEW, replace(why, reason="TWO_REFERENCES"))
            return
        if answer.refund is None and _is_superseded(operation, attempt_id):
            return  # a newer call is under way or answered: what this one did not do moves nothing any more
        target = state_after_answer(
            OperationState(operation.state),
            answer.answer_class,
            earlier=earlier,
            went_back_before=answer.went_back_before,
        )
        if target is not None:
            evidence.move_operation(target, why, **_changes(target, answer, now, tries=len(earlier)))


def _is_another_refund(evidence: Evidence, operation: RefundOperation, answer: GatewayAnswer) -> bool:
    """Tell whether the answer names a refund that cannot be this operation's own, once known.

    It is known by another one, and both may have paid; or another operation is known by this one.
    """
    if answer.refund is None:
        return False
    known, named = operation.processor_reference, answer.refund.processor_reference
    return named != known and (known is not None or evidence.is_known_of_another(named))


def _is_superseded(operation: RefundOperation, attempt_id: str) -> bool:
    """Tell whether another attempt was begun after this one."""
    newest = operation.attempts.order_by("-number").values_list("pk", flat=True).first()
    return newest != attempt_id


def _begin(
    evidence: Evidence, operation: RefundOperation, gateway: Gateway, *, number: int
) -> Begun | NotBegun:
    command = _command(operation)
    digest = gateway.request_body_sha256(command)
    changed = what_differs(operation, gateway, digest) if number > 1 else None
    if changed is not None:
        _hand_over(evidence, operation, changed, body_sha256=digest)
        return NotBegun(changed)
    attempt = _new_attempt(evidence, operation, gateway, digest, number)
    why = Why(_ACTOR, STAGE, "ATTEMPT_BEGUN", operation.policy_version, {"gateway_attempt_id": attempt.pk})
    evidence.move_operation(
        OperationState.SUBMITTED, why, next_attempt_at=None, next_check_at=evidence.now + response_window()
    )
    return Begun(attempt_id=attempt.pk, started_at=attempt.started_at, command=command)


def _command(operation: RefundOperation) -> RefundCommand:
    return RefundCommand(
        operation_id=operation.pk,
        idempotency_key=operation.idempotency_key,
        account=operation.account,
        payment_reference=operation.payment_reference,
        amount_minor_units=operation.amount_minor_units,
        currency=operation.currency,
        reason_code=operation.reason_code,
    )


def _new_attempt(
    evidence: Evidence, operation: RefundOperation, gateway: Gateway, digest: str, number: int
) -> GatewayAttempt:
    return GatewayAttempt.objects.create(
        id=new_id("gwat"),
        operation=operation,
        number=number,
        provider=gateway.provider,
        api_version=gateway.api_version,
        account=operation.account,
        livemode=uses_live_mode(),
        idempotency_key=operation.idempotency_key,
        request_fingerprint=operation.request_fingerprint,
        request_body_sha256=digest,
        system_version=settings.SYSTEM_VERSION,
        trace_id=current_trace_id(),
        started_at=evidence.now,
    )


def _changed(evidence: Evidence, operation: RefundOperation, policy: ApplicablePolicy) -> str | None:
    return what_changed(
        workflow=evidence.workflow,
        approval=ApprovalRequest.objects.filter(pk=operation.approval_id).first(),
        expected=ApprovalState.CONSUMED,
        target=ApprovedTarget(
            payment_id=operation.payment_id,
            amount_minor_units=operation.amount_minor_units,
            request_fingerprint=operation.request_fingerprint,
            operation_id=operation.pk,
        ),
        policy=policy,
        books=evidence.books,
        now=evidence.now,
    )


def _waits_for(evidence: Evidence, operation: RefundOperation) -> str | None:
    """Return what must end before anything is sent, or None; waiting is no transition."""
    if not is_on(GATEWAY_WRITES):
        return WRITES_OFF
    another = evidence.books().has_operation(
        operation.payment_id, OperationState.SUBMITTED, other_than=operation.pk
    )
    return ANOTHER_SUBMITTED if another else None


def _sibling_stands(evidence: Evidence, operation: RefundOperation) -> str | None:
    """Return why the rest of the request bars this operation, or None: an abandoned one may prove to have paid."""
    if evidence.workflow.state != WorkflowState.EXECUTING:
        return "REQUEST_WITH_PEOPLE"
    if evidence.workflow.command_number <= 1:
        return None  # there was no command before this one
    siblings = RefundOperation.objects.filter(workflow_id=operation.workflow_id).exclude(pk=operation.pk)
    return "SIBLING_STANDS" if siblings.exclude(state__in=ABANDONED_OPERATION_STATES).exists() else None


def _resending_is_over(
    evidence: Evidence,
    operation: RefundOperation,
    attempts: tuple[AttemptFacts, ...],
    contract: ProviderContract,
) -> str | None:
    """Return why this command may not be sent again, or None; the first time there is nothing to ask."""
    if attempts and attempts[-1].retry_forbidden:
        return "PROVIDER_FORBIDS_RETRY"
    if attempts and (news := why_not_again(operation, attempts, contract)):
        return news
    if operation.state != OperationState.CONFIRMED_ABSENT:
        return None
    if sum(attempt.may_have_executed for attempt in attempts) >= MAX_EXECUTIONS:
        return "ATTEMPTS_EXHAUSTED"
    if not contract.is_current(evidence.now):
        return "CONTRACT_REVIEW_ENDED"
    ends = safe_until(attempts, contract)
    return None if ends is not None and evidence.now < ends else "SAFE_WINDOW_ENDED"


def _void(
    evidence: Evidence, operation: RefundOperation, changed: str, attempts: tuple[AttemptFacts, ...]
) -> None:
    """Nothing is sent any more: abandoned if nothing ever reached the provider, else for people to decide."""
    if all(attempt.answer_class is AnswerClass.NOT_EXECUTED for attempt in attempts):
        why = Why(_ACTOR, STAGE, changed[:80], operation.policy_version)
        evidence.move_operation(OperationState.CANCELLED, why)
    else:
        _hand_over(evidence, operation, changed)


def _hand_over(evidence: Evidence, operation: RefundOperation, reason: str, **facts: str) -> None:
    why = Why(_ACTOR, STAGE, reason[:80], operation.policy_version, dict(facts))
    evidence.move_operation(OperationState.MANUAL_REVIEW, why)


def _wait(evidence: Evidence, operation: RefundOperation) -> None:
    """Leave the operation executable, and look again later; the row's lock is held."""
    operation.next_attempt_at = evidence.now + WAIT
    operation.claimed_until = None
    operation.save(update_fields=["next_attempt_at", "claimed_until"])


def _keep_response(attempt_id: str, answer: GatewayAnswer, now: datetime) -> None:
    refund = answer.refund
    GatewayResponse.objects.create(
        attempt_id=attempt_id,
        answer_class=answer.answer_class,
        http_status=answer.http_status,
        error_type=(answer.error_type or "")[:80],
        error_code=(answer.error_code or "")[:80],
        processor_reference=refund.processor_reference if refund else "",
        provider_status=(refund.provider_status if refund else "")[:40],
        provider_request_id=(answer.request_id or "")[:255],
        replayed=answer.replayed,
        retry_forbidden=answer.retry_forbidden,
        went_back_before=answer.went_back_before,
        body_sha256=answer.body_sha256 or "",
        detail=answer.detail[:200],
        received_at=now,
    )


def _earlier_answers(operation_id: str, attempt_id: str) -> list[AnswerClass | None]:
    rows = GatewayAttempt.objects.filter(operation_id=operation_id).exclude(pk=attempt_id)
    return [
        AnswerClass(cls) if cls else None for cls in rows.values_list("response__answer_class", flat=True)
    ]


def _why_answer(attempt_id: str, answer: GatewayAnswer, policy: ApplicablePolicy) -> Why:
    return Why(
        actor=_ACTOR,
        stage=STAGE,
        reason=f"ANSWER_{answer.answer_class}",
        policy_version=policy.label,
        evidence={
            "gateway_attempt_id": attempt_id,
            "answer_class": answer.answer_class,
            "http_status": answer.http_status,
            "error_code": answer.error_code,
            "processor_reference": answer.refund.processor_reference if answer.refund else None,
            "provider_words": answer.refund.words if answer.refund else None,
            "replayed": answer.replayed,
        },
    )


def _changes(
    target: OperationState, answer: GatewayAnswer, now: datetime, *, tries: int
) -> dict[str, object]:
    changes: dict[str, object] = {"next_attempt_at": None, "next_check_at": None}
    if answer.refund is not None:
        changes["processor_reference"] = answer.refund.processor_reference
    if target is OperationState.CREATED:
        changes["next_attempt_at"] = now + min(WAIT * (1 + tries // _TRIES_PER_STEP), LONGEST_WAIT)
    elif target in {OperationState.STATUS_UNKNOWN, OperationState.PROVIDER_PENDING}:
        changes["next_check_at"] = now
    return changes
