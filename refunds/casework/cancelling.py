"""When an operation that people own may be given up as never executed, and the command that two of them agree on."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from ledger.canonical import canonical_sha256
from ledger.models import Settlement
from refunds.evidence.attempts import attempts_of
from refunds.evidence.given import GIVEN
from refunds.evidence.looks import last_look
from refunds.evidence.provider_facts import events_about
from refunds.gateways.events import Subject, subject_of
from refunds.gateways.registry import get_contract
from refunds.models import GatewayWebhook, RefundOperation
from refunds.states import CheckVerdict, OperationState

ACTION: Final = "CANCEL_OPERATION"
FRESH: Final = timedelta(hours=1)  # how old the newest look at the provider may be
VALID_FOR: Final = timedelta(hours=24)  # how long a proposal waits for the second person
_OF_REFUNDS: Final = frozenset({Subject.REFUND, Subject.CHARGE})
# A complete list without a refund of ours; nothing else that a look can say speaks for giving up.
_NOTHING_THERE: Final = frozenset({CheckVerdict.NOT_FOUND_YET, CheckVerdict.CONFIRMED_ABSENT})


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelFacts:
    """What the rows say about one operation; times are aware, None where there is none."""

    state: OperationState
    reference_known: bool
    told_of_refund: (
        bool  # an answer, an event, whatever became of it, or a settlement row says that there is one
    )
    event_waits: bool  # one that nobody has read yet may be about this refund
    attempted_at: datetime | None  # of the newest attempt that may have executed
    pointed_at: datetime | None  # when a person last gave a reference to be looked up
    look_at: datetime | None
    look_verdict: CheckVerdict | None
    look_complete: bool


def why_not_cancellable(facts: CancelFacts, *, in_flight_horizon: timedelta, now: datetime) -> str:
    """Return the code of what speaks against giving the operation up, or an empty text.

    NOT_WITH_PEOPLE, REFERENCE_KNOWN, PROVIDER_TOLD_OF_REFUND, EVENT_NOT_READ_YET, STILL_IN_FLIGHT, LOOK_FIRST (the
    provider was not asked lately, or only while the last call might still have been running),
    REFERENCE_NOT_LOOKED_UP (that a person gave since), LOOK_INCONCLUSIVE (it was asked, and did not show a complete
    list without our refund).
    """
    looked, over = facts.look_at, end_of_flight(facts.attempted_at, in_flight_horizon)
    objections = (
        (facts.state is not OperationState.MANUAL_REVIEW, "NOT_WITH_PEOPLE"),
        (facts.reference_known, "REFERENCE_KNOWN"),
        (facts.told_of_refund, "PROVIDER_TOLD_OF_REFUND"),
        (facts.event_waits, "EVENT_NOT_READ_YET"),
        (over is not None and now < over, "STILL_IN_FLIGHT"),
        (looked is None or looked < now - FRESH, "LOOK_FIRST"),
        (over is not None and looked is not None and looked < over, "LOOK_FIRST"),
        (_is_later(facts.pointed_at, looked), "REFERENCE_NOT_LOOKED_UP"),
        (facts.look_verdict not in _NOTHING_THERE or not facts.look_complete, "LOOK_INCONCLUSIVE"),
    )
    return next((code for holds, code in objections if holds), "")


def end_of_flight(attempted_at: datetime | None, in_flight_horizon: timedelta) -> datetime | None:
    """Return from when a look shows what the last call made, or None if nothing was called."""
    return attempted_at + in_flight_horizon if attempted_at is not None else None


def _is_later(at: datetime | None, than: datetime | None) -> bool:
    return at is not None and than is not None and at >= than


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelCommand:
    """What two people agree on: one operation as it stands, what is said about it, and the evidence for it."""

    refund_operation_id: str
    workflow_id: str
    operation_fingerprint: str
    state: str
    state_sequence: int
    payment: str
    account: str
    amount_minor_units: int
    currency: str
    statement: str
    evidence: list[dict[str, Any]]
    proposal_number: int
    action: str = ACTION

    def as_json(self) -> dict[str, Any]:
        """Return the command as plain JSON, as it is frozen in the approval."""
        return asdict(self)

    def fingerprint(self) -> str:
        """Return SHA-256 over the canonical JSON (RFC 8785) of the command, in hex."""
        return canonical_sha256(self.as_json())


def command_about(
    operation: RefundOperation, *, statement: str, evidence: list[dict[str, Any]], proposal_number: int
) -> CancelCommand:
    """Return the command about a locked operation as it is now."""
    return CancelCommand(
        refund_operation_id=operation.pk,
        workflow_id=operation.workflow_id,
        operation_fingerprint=operation.request_fingerprint,
        state=str(operation.state),
        state_sequence=operation.state_sequence,
        payment=operation.payment_reference,
        account=operation.account,
        amount_minor_units=operation.amount_minor_units,
        currency=operation.currency,
        statement=statement,
        evidence=evidence,
        proposal_number=proposal_number,
    )


def why_not_now(operation: RefundOperation, *, now: datetime) -> str:
    """Read what the rule needs about an operation, and return what speaks against giving it up, or an empty text."""
    return why_not_cancellable(cancel_facts(operation), in_flight_horizon=_horizon(), now=now)


def evidence_counts_from(operation: RefundOperation) -> datetime:
    """Return from when what a person sees at the provider says something about the operation."""
    return end_of_flight(_attempted_at(operation.pk), _horizon()) or operation.created_at


def cancel_facts(operation: RefundOperation) -> CancelFacts:
    """Return what the rows say about an operation."""
    look = last_look(operation.pk)
    given = operation.events.filter(reason=GIVEN).order_by("-pk").values_list("at", flat=True)
    return CancelFacts(
        state=OperationState(operation.state),
        reference_known=operation.processor_reference is not None,
        told_of_refund=_told_of(operation),
        event_waits=_event_waits(operation),
        attempted_at=_attempted_at(operation.pk),
        pointed_at=given.first(),
        look_at=look.at if look else None,
        look_verdict=look.verdict if look else None,
        look_complete=look is not None and look.listed_completely,
    )


def _horizon() -> timedelta:
    return timedelta(seconds=get_contract().in_flight_horizon_seconds)


def _attempted_at(operation_id: str) -> datetime | None:
    return max((row.started_at for row in attempts_of(operation_id) if row.may_have_executed), default=None)


def an_answer_warns(operation_id: str) -> bool:
    """Tell whether a call was answered so that its refund may be there, or come at any later time, unseen."""
    late = get_contract().server_errors.late_effects.value
    return any(
        row.was_done_unread or (row.may_have_executed and row.http_status in late)
        for row in attempts_of(operation_id)
    )


def _told_of(operation: RefundOperation) -> bool:
    """Tell whether the provider named the operation; an event that no look bore out was still sent by it.

    The pages have no key of the provider that would say which mode counts: the attempts say where they went.
    """
    waiting = GatewayWebhook.objects.filter(next_attempt_at__isnull=False, operation_id=operation.pk)
    settled = Settlement.objects.filter(operation_id=operation.pk)
    told = events_about(operation, get_contract(), modes=_modes_of(operation.pk))
    return bool(told) or waiting.exists() or settled.exists()


def _modes_of(operation_id: str) -> frozenset[bool]:
    """Return the mode that the operation was sent in; both, where no attempt says."""
    kept = frozenset(row.livemode for row in attempts_of(operation_id) if row.livemode is not None)
    return kept or frozenset({True, False})


def _event_waits(operation: RefundOperation) -> bool:
    """Tell whether an unread event may be about this refund: it names no operation, and no other payment."""
    unread = GatewayWebhook.objects.filter(
        next_attempt_at__isnull=False,
        account=operation.account,
        operation_id="",
        payment_reference__in=["", operation.payment_reference],
    )
    return any(subject_of(name) in _OF_REFUNDS for name in unread.values_list("event_type", flat=True))
