"""What a verdict is made from, and the verdict itself. Pure."""

from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Final

from refunds.gateways.port import AnswerClass, RefundFact
from refunds.states import CheckVerdict

MAX_EXECUTIONS: Final = 5  # attempts that may have executed; then people take over


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """One attempt: when its call began and what came of it; no class is an answer that never came."""

    started_at: datetime
    answer_class: AnswerClass | None
    http_status: int | None
    error_type: str = ""
    error_code: str = ""
    retry_forbidden: bool = False
    went_back_before: bool = False  # refused because money of the payment is back already
    account: str = ""
    livemode: bool | None = None  # None: it was not kept

    @property
    def may_have_executed(self) -> bool:
        """Tell whether the provider may have made a refund for this attempt."""
        return self.answer_class not in {AnswerClass.NOT_EXECUTED, AnswerClass.REFUSED}

    @property
    def was_done_unread(self) -> bool:
        """Tell whether the provider said that it did what was asked, in words that could not be read."""
        done = (
            self.http_status is not None and HTTPStatus.OK <= self.http_status < HTTPStatus.MULTIPLE_CHOICES
        )
        return self.answer_class is AnswerClass.UNKNOWN and done


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """What a look-up result is compared with."""

    operation_id: str
    amount_minor_units: int
    currency: str
    processor_reference: str | None
    attempts: tuple[AttemptFacts, ...] = ()  # oldest first
    account: str = ""
    livemode: bool | None = None
    payment_reference: str = ""  # as the operation names its payment; empty: it is not compared
    references_of_others: frozenset[str] = frozenset()  # refunds that other operations are known by
    captured_minor_units: int | None = None  # of the payment; None: it is not compared

    @property
    def doubtful(self) -> tuple[AttemptFacts, ...]:
        """The attempts that may have made a refund."""
        return tuple(attempt for attempt in self.attempts if attempt.may_have_executed)

    @property
    def newest(self) -> AttemptFacts | None:
        """The attempt that was begun last."""
        return self.attempts[-1] if self.attempts else None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of one check, the refund it rests on, and every step that led there."""

    verdict: CheckVerdict
    refund: RefundFact | None
    explanation: tuple[str, ...]
    contradictory: bool = False  # an object of ours is there and must not be so: waiting will not help
    hopeless: bool = False  # no object of ours is there, and waiting will not show one
    told: bool = (
        False  # the provider told that our refund exists, but no object of it could be read or placed
    )
