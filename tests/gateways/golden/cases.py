"""What a golden verdict case is made of: plain data, from the first attempt on.

``fact`` is the row that the case follows: a section of the facts sheet about providers, or "10." and the number of its
conformance list. The pages behind it stand in docs/provider-contract.md.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from refunds.gateways.port import (
    LIST,
    RETRIEVE,
    AnswerClass,
    EventFact,
    LookupAnswer,
    ProviderStatus,
    RefundFact,
    SettlementFact,
)
from refunds.states import CheckVerdict
from refunds.verdicts import AttemptFacts, OperationFacts

START: Final = datetime(2026, 11, 30, 12, tzinfo=UTC)
ID, AMOUNT, CURRENCY = "rfop_1", 4999, "USD"

ABSENT = CheckVerdict.CONFIRMED_ABSENT
AMBIGUOUS = CheckVerdict.STILL_AMBIGUOUS
COMPLETED = CheckVerdict.CONFIRMED_COMPLETED
FAILED = CheckVerdict.CONFIRMED_FAILED
NOT_YET = CheckVerdict.NOT_FOUND_YET
PENDING = CheckVerdict.CONFIRMED_PENDING
REJECTED = CheckVerdict.CONFIRMED_REJECTED

CONTRADICTORY, HOPELESS, TOLD = "contradictory", "hopeless", "told"


NOW: Final = timedelta(0)


def m(minutes):
    return timedelta(minutes=minutes)


def h(hours):
    return timedelta(hours=hours)


def d(days):
    return timedelta(days=days)


@dataclass(frozen=True, kw_only=True)
class Case:
    """Everything that is known ``at`` some time after the first attempt, and what it proves."""

    name: str
    fact: str
    at: timedelta
    verdict: CheckVerdict
    flag: str = ""
    because: str = ""  # what the last line of the explanation must say
    attempts: tuple[AttemptFacts, ...] = ()
    lookups: tuple[LookupAnswer, ...] = ()
    events: tuple[EventFact, ...] = ()
    settlements: tuple[SettlementFact, ...] = ()
    reference: str | None = None

    @property
    def facts(self):
        return OperationFacts(ID, AMOUNT, CURRENCY, self.reference, self.attempts, livemode=False)


def lost(at=NOW, **more):
    """An attempt whose answer was not seen, or proves nothing: ``http`` is what came instead."""
    return _attempt(at, AnswerClass.UNKNOWN, **more)


def refused(at=NOW, **more):
    return _attempt(at, AnswerClass.REFUSED, **more)


def never_sent(at=NOW, **more):
    return _attempt(at, AnswerClass.NOT_EXECUTED, **more)


def accepted(at=NOW, **more):
    return _attempt(at, AnswerClass.PENDING, http=200, **more)


def _attempt(at, answer_class, *, http=None, kind="", code="", account=""):
    return AttemptFacts(START + at, answer_class, http, kind, code, account=account, livemode=False)


def ours(status=ProviderStatus.SUCCEEDED, *, reference="re_1", **changed):
    return _refund(ID, reference, status, **changed)


def theirs(status=ProviderStatus.SUCCEEDED, *, reference="re_dashboard", **changed):
    """A refund of the same payment and amount that does not carry our id."""
    return _refund(None, reference, status, **changed)


def _refund(operation_id, reference, status, *, amount=AMOUNT, made=None):
    return RefundFact(
        processor_reference=reference,
        operation_id=operation_id,
        amount_minor_units=amount,
        currency=CURRENCY,
        provider_status=status.lower(),
        status=status,
        payment_reference="payment_1",
        created_at=None if made is None else START + made,
        failure_reason=None,
    )


def read(surface, *refunds, untouched=None):
    """A complete read."""
    return LookupAnswer(
        surface=surface, complete=True, refunds=refunds, http_status=200, error_code=None, detail="", attempts=1,
        payment_untouched=untouched,
    )  # fmt: skip


def unread(surface, *refunds, http=503):
    """A read that broke off, or was answered with an error."""
    return LookupAnswer(
        surface=surface, complete=False, refunds=refunds, http_status=http, error_code=None, detail="", attempts=3
    )  # fmt: skip


def listed(*refunds):
    return read(LIST, *refunds)


def retrieved(*refunds):
    return read(RETRIEVE, *refunds)


def event(kind, reference="re_1"):
    return EventFact(event_id="evt_1", event_type=kind, processor_reference=reference, happened_at=START)


def settled(category="REFUND"):
    return SettlementFact(
        operation_id=ID, processor_reference="re_1", amount_minor_units=AMOUNT, currency=CURRENCY, category=category,
        status="SETTLED", booked_at=START, report="report",
    )  # fmt: skip
