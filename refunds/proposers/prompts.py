"""What a model is told: two narrow questions. Pure but for the template files, which are read once.

Everything variable is one JSON document in the user message: what people wrote are JSON strings inside it and cannot
end it, and the signs by which servers tell turns and roles apart are escaped in it. The document holds allow-listed
fields only, each named below.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict

from refunds.proposers.port import ProposalContext
from refunds.proposers.reading import (
    READING_SCHEMA,
    READING_SCHEMA_VERSION,
    ReadingContext,
    parse_reading,
)
from refunds.proposers.schema import PROPOSAL_SCHEMA, SCHEMA_VERSION, Malformed, parse_proposal
from refunds.proposers.templates import PromptTemplate, load_template

PROPOSE_ACTION: Final = load_template("propose_action", 3)
READ_MESSAGE: Final = load_template("read_message", 1)
PROMPT_VERSION: Final = PROPOSE_ACTION.label
# Of every question that a model is asked, and of every answer.
PROMPT_VERSIONS: Final = f"{PROPOSE_ACTION.label} {READ_MESSAGE.label}"
SCHEMA_VERSIONS: Final = f"action/{SCHEMA_VERSION} reading/{READING_SCHEMA_VERSION}"
# <|im_end|>, </s>, [INST]: servers of local models read such signs out of any text as ends of a turn.
_TURNS: Final = re.compile(r"[<>|]|\[(?=/?[A-Z])")


class Message(TypedDict):
    """One chat message."""

    role: str
    content: str


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question as any model is asked it. `context_sha256` is that of the document in the user message."""

    answer_name: str
    template: PromptTemplate
    schema: Mapping[str, Any]
    messages: tuple[Message, ...] = field(repr=False)
    context_sha256: str


def proposal_question(context: ProposalContext, *, repair_of: str | None = None) -> Question:
    """Return the question for a proposal.

    With `repair_of`, the defect of that earlier answer is added. Raises ValueError if `parse_proposal` does
    not call the earlier answer repairable.
    """
    defect = None if repair_of is None else parse_proposal(repair_of)
    document = {
        "case": {
            "finding": context.finding,
            "reason_code": context.reason_code,
            "problem": context.problem,
            "policy_version": context.policy_version,
            "allowed_actions": [str(action) for action in context.allowed_actions],
        },
        "customer_text": context.customer_text,
        "order_note": context.order_note,
        "policy_text": context.policy_text,
    }
    return Question(
        answer_name="refund_proposal",
        template=PROPOSE_ACTION,
        schema=PROPOSAL_SCHEMA,
        messages=_messages(PROPOSE_ACTION, document, repair_of, defect),
        context_sha256=_digest(document),
    )


def reading_question(context: ReadingContext, *, repair_of: str | None = None) -> Question:
    """Return the question for a reading of the customer's words.

    With `repair_of`, the defect of that earlier answer is added. Raises ValueError if `parse_reading` does not call
    the earlier answer repairable.
    """
    defect = None if repair_of is None else parse_reading(repair_of)
    document = {"customer_text": context.customer_text}
    return Question(
        answer_name="message_reading",
        template=READ_MESSAGE,
        schema=READING_SCHEMA,
        messages=_messages(READ_MESSAGE, document, repair_of, defect),
        context_sha256=_digest(document),
    )


def build_messages(context: ProposalContext, *, repair_of: str | None = None) -> list[Message]:
    """Return the messages of the question for a proposal; see `proposal_question`."""
    return list(proposal_question(context, repair_of=repair_of).messages)


def _messages(
    template: PromptTemplate, document: dict[str, Any], repair_of: str | None, defect: object
) -> tuple[Message, ...]:
    asked: tuple[Message, ...] = (
        {"role": "system", "content": template.instructions},
        {"role": "user", "content": _as_json(document)},
    )
    if repair_of is None:
        return asked
    if not (isinstance(defect, Malformed) and defect.repairable):
        raise ValueError("only a repairable answer is asked for again")
    correction = {
        "instruction": template.correction,
        "defect": str(defect.reason),
        "previous_answer": repair_of,
    }
    return (*asked, {"role": "user", "content": _as_json({"correction": correction})})


def _as_json(document: dict[str, Any]) -> str:
    written = json.dumps(document, ensure_ascii=False)
    return _TURNS.sub(lambda sign: f"\\u{ord(sign.group()):04x}", written)  # they stand in strings alone


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(_as_json(document).encode()).hexdigest()
