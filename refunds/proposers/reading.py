"""What a model makes of a customer's words before their order is known: a hint, and nothing that decides. Pure.

A text that claims to be a reading belongs to exactly one of the classes of a proposal: VALID, REPAIRABLE (form only)
or REJECT. The customer confirms the order and the problem; the policy decides.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol, runtime_checkable

from ledger.intake import MAX_ORDER_NUMBER, IntakeRefusedError, check_order_number
from refunds.proposers.guardrails import DRAFT_RULES
from refunds.proposers.port import ProposalResult, is_prepared
from refunds.proposers.schema import Form, Malformed, ProposalClass, read_form

READING_SCHEMA_VERSION: Final = "1"


class MessageIntent(StrEnum):
    """What a customer wants."""

    REFUND_DUPLICATE_CHARGE = "refund_duplicate_charge"
    REFUND_OTHER_REASON = "refund_other_reason"
    ORDER_QUESTION = "order_question"
    ACCOUNT_QUESTION = "account_question"
    OTHER = "other"


class MessageProblem(StrEnum):
    """Which problem of ours they describe."""

    DUPLICATE_CHARGE = "duplicate_charge"
    NONE = "none"


READING_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["intent", "problem", "order_hint", "language"],
    "properties": {
        "intent": {"type": "string", "enum": [str(intent) for intent in MessageIntent]},
        "problem": {"type": "string", "enum": [str(problem) for problem in MessageProblem]},
        "order_hint": {"type": ["string", "null"], "maxLength": MAX_ORDER_NUMBER + 1},
        "language": {"type": "string", "pattern": "^[a-z]{2,3}$"},
    },
}
# A hint is a number by nature; whether it is one of this customer's orders is asked of the rows.
_READING: Final = Form(READING_SCHEMA, tolerated=DRAFT_RULES | {"UNVERIFIED_REFERENCE", "PHONE"})


@dataclass(frozen=True, kw_only=True)
class ReadingContext:
    """Everything a reader may know: the customer's own words, from `prepare_customer_text`.

    No order, name, customer, merchant or payment has room here. Raises ValueError for any other text.
    """

    customer_text: str = field(repr=False)

    def __post_init__(self) -> None:
        if not (self.customer_text and is_prepared(self.customer_text)):
            raise ValueError("customer_text must come from prepare_customer_text")


@dataclass(frozen=True, kw_only=True)
class ParsedReading:
    """A text of class VALID. Well formed, still untrusted. `language` is an ISO 639 code, "und" where unclear."""

    intent: MessageIntent
    problem: MessageProblem
    language: str
    order_hint: str | None = field(repr=False)

    @property
    def proposal_class(self) -> ProposalClass:
        """Return VALID."""
        return ProposalClass.VALID


def parse_reading(raw: str | bytes) -> ParsedReading | Malformed:
    """Turn what a model said into a reading, or say what is wrong with it. Never raises."""
    document = read_form(raw, _READING)
    if isinstance(document, Malformed):
        return document
    return ParsedReading(
        intent=MessageIntent(document["intent"]),
        problem=MessageProblem(document["problem"]),
        language=document["language"],
        order_hint=document["order_hint"] or None,
    )


def hinted_number(reading: ParsedReading, context: ReadingContext) -> str | None:
    """Return the hint as an order number, if it literally stands in the customer's words; else None.

    It stands there when no letter or digit touches it: "no.2841" names 2841, "28411" does not.
    """
    if reading.order_hint is None:
        return None
    try:
        number = check_order_number(reading.order_hint)
    except IntakeRefusedError:
        return None
    found = re.search(rf"(?<![^\W_]){re.escape(number)}(?![^\W_])", context.customer_text)
    return number if found else None


@runtime_checkable
class MessageReader(Protocol):
    """Something that can be asked what a customer's words mean."""

    def read_message(
        self, context: ReadingContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> ProposalResult:
        """Ask once, within `deadline_seconds` of wall-clock time that include every retry.

        `repair_of` is the `raw_text` of an answer that `parse_reading` called repairable. Raises ValueError for any
        other text.
        """
        ...
