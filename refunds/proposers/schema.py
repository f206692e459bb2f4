"""What a proposal is, and how untrusted text becomes one or does not. Pure.

Stages 6 and 7. The schema has no field for an amount, currency, customer, tenant or transaction: trusted code
attaches those from verified rows. A text belongs to exactly one class:

* VALID: one JSON object that satisfies the schema;
* REPAIRABLE: a defect of form, and nothing in the text looks invented or unsafe; it may be asked for again;
* REJECT: keys that name identifiers, amounts or tools, contradictions, unsafe text, or text that cannot be
  examined. It is never asked for again and never shown.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from jsonschema import Draft202012Validator

from refunds.proposers.characters import has_unsafe_characters
from refunds.proposers.guardrails import DRAFT_RULES, find_unsafe_language
from refunds.proposers.strict_json import Defect, Reading, read_document
from refunds.proposers.suspicion import has_forbidden_key

SCHEMA_VERSION: Final = "1"
MAX_PROPOSAL_BYTES: Final = 8192
MAX_MESSAGE: Final = 600


class ProposedAction(StrEnum):
    """What a model may recommend."""

    ISSUE_REFUND = "issue_refund"
    ASK_PERSON = "ask_person"


class ProposalReason(StrEnum):
    """Why, in the words of the finding."""

    VERIFIED_DUPLICATE_CHARGE = "verified_duplicate_charge"
    NO_DUPLICATE_FOUND = "no_duplicate_found"
    REQUIRES_INVESTIGATION = "requires_investigation"
    OTHER = "other"


PROPOSAL_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["recommended_action", "reason_code", "requires_human_review", "customer_message"],
    "properties": {
        "recommended_action": {"type": "string", "enum": [str(action) for action in ProposedAction]},
        "reason_code": {"type": "string", "enum": [str(reason) for reason in ProposalReason]},
        "requires_human_review": {"type": "boolean"},
        "customer_message": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_MESSAGE,
            "pattern": r"\S",
        },
    },
}


class Form:
    """The form of one answer: its schema, and how much of its content decides whether a defect is one of form only.

    `actions`: the field in which an invented member is never asked for again. `tolerated`: rules about language that
    the form's own values break.
    """

    def __init__(self, schema: dict[str, Any], *, actions: str = "", tolerated: frozenset[str]) -> None:
        self.validator = Draft202012Validator(schema)
        self.known_keys = frozenset(schema["properties"])
        self.actions = actions
        self.tolerated = tolerated


_PROPOSAL: Final = Form(PROPOSAL_SCHEMA, actions="recommended_action", tolerated=DRAFT_RULES)


class ProposalClass(StrEnum):
    """What may happen to a text that claims to be a proposal."""

    VALID = "VALID"
    REPAIRABLE = "REPAIRABLE"
    REJECT = "REJECT"


class MalformedReason(StrEnum):
    """What is wrong with a text that is not a proposal, beyond the defects of `strict_json.Defect`."""

    TOO_LARGE = "TOO_LARGE"
    NOT_UTF8 = "NOT_UTF8"
    NOT_AN_OBJECT = "NOT_AN_OBJECT"
    MISSING_FIELD = "MISSING_FIELD"
    EXTRA_FIELD = "EXTRA_FIELD"
    FORBIDDEN_KEY = "FORBIDDEN_KEY"
    WRONG_TYPE = "WRONG_TYPE"
    WRONG_ENUM = "WRONG_ENUM"
    UNKNOWN_ACTION = "UNKNOWN_ACTION"
    UNKNOWN_REASON = "UNKNOWN_REASON"
    MESSAGE_TOO_LONG = "MESSAGE_TOO_LONG"
    EMPTY_MESSAGE = "EMPTY_MESSAGE"
    UNSAFE_CHARACTERS = "UNSAFE_CHARACTERS"
    UNSAFE_TEXT = "UNSAFE_TEXT"
    DECLINED = "DECLINED"
    CHANGED_IN_REPAIR = "CHANGED_IN_REPAIR"


_REPAIRABLE: Final[frozenset[Defect | MalformedReason]] = frozenset(
    {
        Defect.BYTE_ORDER_MARK,
        Defect.CODE_FENCE,
        Defect.NOT_JSON,
        Defect.TRAILING_TEXT,
        Defect.SEVERAL_OBJECTS,
        Defect.DUPLICATE_KEY,
        Defect.NON_FINITE_NUMBER,
        MalformedReason.NOT_AN_OBJECT,
        MalformedReason.MISSING_FIELD,
        MalformedReason.EXTRA_FIELD,
        MalformedReason.WRONG_TYPE,
        MalformedReason.WRONG_ENUM,
        MalformedReason.MESSAGE_TOO_LONG,
        MalformedReason.EMPTY_MESSAGE,
    }
)


@dataclass(frozen=True, kw_only=True)
class ParsedProposal:
    """A text of class VALID. Well formed, still untrusted: the seven checks come next."""

    recommended_action: ProposedAction
    reason_code: ProposalReason
    requires_human_review: bool
    customer_message: str = field(repr=False)

    @property
    def proposal_class(self) -> ProposalClass:
        """Return VALID."""
        return ProposalClass.VALID

    def as_document(self) -> dict[str, str | bool]:
        """Return the JSON object that this proposal is."""
        return {
            "recommended_action": str(self.recommended_action),
            "reason_code": str(self.reason_code),
            "requires_human_review": self.requires_human_review,
            "customer_message": self.customer_message,
        }


@dataclass(frozen=True, kw_only=True)
class Malformed:
    """A text that is no proposal. `reason` is a code; no part of the text is kept."""

    repairable: bool
    reason: Defect | MalformedReason

    @property
    def proposal_class(self) -> ProposalClass:
        """Return REPAIRABLE or REJECT."""
        return ProposalClass.REPAIRABLE if self.repairable else ProposalClass.REJECT


def parse_proposal(raw: str | bytes) -> ParsedProposal | Malformed:
    """Turn what a model said into a proposal, or say what is wrong with it. Never raises."""
    document = read_form(raw, _PROPOSAL)
    if isinstance(document, Malformed):
        return document
    return ParsedProposal(
        recommended_action=ProposedAction(document["recommended_action"]),
        reason_code=ProposalReason(document["reason_code"]),
        requires_human_review=document["requires_human_review"],
        customer_message=document["customer_message"],
    )


def names_another_action(earlier: str, proposal: ParsedProposal) -> bool:
    """Say whether an earlier, malformed answer named actions, but not the one of this proposal."""
    words = re.sub(r"[\s_\-]+", "_", earlier).casefold()
    named = {action for action in ProposedAction if action in words}
    return bool(named) and proposal.recommended_action not in named


def read_form(raw: str | bytes, form: Form) -> dict[str, Any] | Malformed:
    """Return the one JSON object that a text is, if it satisfies the form's schema. Never raises."""
    if len(raw) > MAX_PROPOSAL_BYTES:
        return Malformed(repairable=False, reason=MalformedReason.TOO_LARGE)
    try:
        text = raw if isinstance(raw, str) else raw.decode()
    except UnicodeDecodeError:
        return Malformed(repairable=False, reason=MalformedReason.NOT_UTF8)
    if len(text.encode(errors="surrogatepass")) > MAX_PROPOSAL_BYTES:
        return Malformed(repairable=False, reason=MalformedReason.TOO_LARGE)
    if has_unsafe_characters(text.removeprefix("\ufeff")):
        return Malformed(repairable=False, reason=MalformedReason.UNSAFE_CHARACTERS)
    return _judge(read_document(text), form)


def is_valid_proposal(proposal: ParsedProposal) -> bool:
    """Say whether the proposal still satisfies the schema and holds no unsafe character."""
    document = proposal.as_document()
    return _PROPOSAL.validator.is_valid(document) and not has_unsafe_characters(proposal.customer_message)


def _judge(reading: Reading, form: Form) -> dict[str, Any] | Malformed:
    found: list[Defect | MalformedReason] = [*reading.defects, *_content_defects(reading, form)]
    for reason in found:
        if reason not in _REPAIRABLE:
            return Malformed(repairable=False, reason=reason)
    if found:
        return _repairable_unless_unsafe(reading, found[0], form)
    document: dict[str, Any] = reading.document
    return document


def _repairable_unless_unsafe(reading: Reading, reason: Defect | MalformedReason, form: Form) -> Malformed:
    """Only a defect of form is repaired: text that claims or instructs is rejected whatever its form."""
    for text in (*reading.strings, reading.prose):
        if set(find_unsafe_language(text)) - form.tolerated:
            return Malformed(repairable=False, reason=MalformedReason.UNSAFE_TEXT)
    return Malformed(repairable=True, reason=reason)


def _content_defects(reading: Reading, form: Form) -> Iterator[MalformedReason]:
    if any(has_unsafe_characters(text) for text in (*reading.keys, *reading.strings, reading.prose)):
        yield MalformedReason.UNSAFE_CHARACTERS
    if has_forbidden_key(reading.keys, known=form.known_keys):
        yield MalformedReason.FORBIDDEN_KEY
    if Defect.NOT_JSON in reading.defects or Defect.TOO_DEEP in reading.defects:
        return
    for error in form.validator.iter_errors(reading.document):
        place = error.absolute_path[0] if error.absolute_path else None
        yield _schema_defect(str(error.validator), place, error.instance, form)


def _schema_defect(keyword: str, place: str | int | None, value: object, form: Form) -> MalformedReason:
    match keyword:
        case "type":
            return MalformedReason.NOT_AN_OBJECT if place is None else MalformedReason.WRONG_TYPE
        case "required":
            return MalformedReason.MISSING_FIELD
        case "additionalProperties":
            return MalformedReason.EXTRA_FIELD
        case "maxLength":
            return MalformedReason.MESSAGE_TOO_LONG
        case "enum":
            return _enum_defect(place, value, form)
        case _:
            written = isinstance(value, str) and value.strip()
            return MalformedReason.WRONG_ENUM if written else MalformedReason.EMPTY_MESSAGE


def _enum_defect(place: str | int | None, value: object, form: Form) -> MalformedReason:
    """Tell a misspelt member from an invented one: an invented action is never asked for again."""
    if not isinstance(value, str):
        return MalformedReason.WRONG_TYPE
    spelling = re.sub(r"[\s_\-]+", "_", value.strip()).casefold()
    if place == form.actions:
        known = spelling in frozenset(ProposedAction)
        return MalformedReason.WRONG_ENUM if known else MalformedReason.UNKNOWN_ACTION
    words = spelling.replace("_", " ")
    plausible = re.fullmatch(r"[a-z ]{1,64}", words) and not set(find_unsafe_language(words)) - DRAFT_RULES
    return MalformedReason.WRONG_ENUM if plausible else MalformedReason.UNKNOWN_REASON
