"""One question to one model, with corrections of form as in the product, and what the answer is worth."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from refunds.proposers.customer_text import prepare_customer_text
from refunds.proposers.port import Declined, ProposalContext, Proposed, Proposer, Unavailable
from refunds.proposers.reading import (
    MessageReader,
    ParsedReading,
    ReadingContext,
    hinted_number,
    parse_reading,
)
from refunds.proposers.schema import Malformed, ParsedProposal, ProposedAction, parse_proposal
from tests.adversary.judging import VALID, judge, why_not
from tests.evals.sets import READINGS, Row

MAX_REPAIRS: Final = 2
NO_COMMAND: Final = {"command_amount_minor_units": None, "command_currency": None}
DECLINED, UNAVAILABLE = "DECLINED", "UNAVAILABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of one row. ``first`` and ``last`` are classes, or DECLINED, or UNAVAILABLE."""

    row: Row
    first: str
    last: str
    accepted: bool
    said: dict[str, Any]
    repairs: int
    seconds: float
    why: str = ""  # in codes, what speaks against it
    prompt: str = ""  # the version of what it was asked with


def can_read(model: Proposer) -> bool:
    """Say whether this model is one that reads messages as well."""
    return isinstance(model, MessageReader)


def ask(model: Proposer, row: Row, *, seconds: float) -> Answer:
    """Ask for the row's answer within so many seconds, corrections included."""
    put, parse = _reading(model, row) if row.kind in READINGS else _proposal(model, row)
    began = time.monotonic()
    result = put(seconds, None)
    first = parsed = _parsed(result, parse)
    repairs = 0
    while isinstance(parsed, Malformed) and parsed.repairable and repairs < MAX_REPAIRS:
        left = seconds - (time.monotonic() - began)
        if left <= 0 or not isinstance(result, Proposed):
            break
        repairs += 1
        result = put(left, result.raw_text)
        parsed = _parsed(result, parse)
    return Answer(
        row=row,
        first=_class(first),
        last=_class(parsed),
        accepted=_class(parsed) == VALID and (row.kind in READINGS or _passes(result, row)),
        said=_said(parsed, row),
        repairs=repairs,
        seconds=time.monotonic() - began,
        why=_why(result, row),
        prompt=str(getattr(result, "prompt_version", "")),
    )


def is_right(answer: Answer) -> bool:
    """Say whether the model's words, whatever the checks made of them, are the row's answer."""
    row, said = answer.row, answer.said
    if row.kind in READINGS:
        return (said.get("intent"), said.get("problem")) == (row.intent, row.problem)
    return (said.get("action"), said.get("reason")) == (row.action, row.reason)


def outcome(answer: Answer) -> str:
    """Return what the desk would do with it: the action, what it would suggest of a message, or hand it over."""
    if not answer.accepted:
        return "handed over"
    said = answer.said
    return str(said["action"]) if "action" in said else f"{said['intent']} {said['problem']} {said['kept']}"


_Put = Callable[[float, str | None], Any]


def _proposal(model: Proposer, row: Row) -> tuple[_Put, Callable[[str], Any]]:
    context = ProposalContext(
        finding=row.finding,
        reason_code=row.reason_code,
        problem="DUPLICATE_CHARGE",
        policy_version="REF-DUP v1",
        allowed_actions=tuple(ProposedAction),
        customer_text=prepare_customer_text(row.text) if row.text else None,
    )
    return _put(model.propose, context), parse_proposal


def _reading(model: Any, row: Row) -> tuple[_Put, Callable[[str], Any]]:
    return _put(model.read_message, _message(row)), parse_reading


def _put(question: Callable[..., Any], context: Any) -> _Put:
    return lambda left, again: question(context, deadline_seconds=left, repair_of=again)


def _message(row: Row) -> ReadingContext:
    return ReadingContext(customer_text=prepare_customer_text(row.text or "") or "")


def _parsed(result: Any, parse: Callable[[str], Any]) -> Any:
    return parse(result.raw_text) if isinstance(result, Proposed) else result


def _class(parsed: Any) -> str:
    if isinstance(parsed, Unavailable):
        return UNAVAILABLE
    return DECLINED if isinstance(parsed, Declined) else str(parsed.proposal_class)


def _passes(result: Any, row: Row) -> bool:
    return (
        isinstance(result, Proposed) and judge(result.raw_text, finding=row.finding, **_command(row)) == VALID
    )


def _why(result: Any, row: Row) -> str:
    if isinstance(result, Declined | Unavailable):
        return str(result.kind)
    if row.kind in READINGS:
        parsed = parse_reading(result.raw_text)
        return str(parsed.reason) if isinstance(parsed, Malformed) else ""
    return why_not(result.raw_text, finding=row.finding, **_command(row))


def _command(row: Row) -> dict[str, Any]:
    return {} if row.finding == "VERIFIED_DUPLICATE_CHARGE" else NO_COMMAND


def _said(parsed: Any, row: Row) -> dict[str, Any]:
    if isinstance(parsed, ParsedProposal):
        return {"action": str(parsed.recommended_action), "reason": str(parsed.reason_code)}
    if isinstance(parsed, ParsedReading):
        kept = hinted_number(parsed, _message(row))
        return {
            "intent": str(parsed.intent),
            "problem": str(parsed.problem),
            "language": parsed.language,
            "order": kept or parsed.order_hint,
            "kept": kept,
        }
    return {}
