"""What people and models said, as plain values: none of it is evidence."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Draft:
    """A model's words. ``masked``: they are no draft that may be shown, so they are cleaned and cut."""

    text: str
    masked: bool


@dataclass(frozen=True, slots=True)
class GivenText:
    """A paragraph of a house text that a model was given with a question; the digest is that of the whole text."""

    document_id: str
    title: str
    paragraph: int
    content_sha256: str


@dataclass(frozen=True, slots=True)
class ProposalFacts:
    """What a proposer recommended. ``draft`` is empty once erased; ``asked`` names digests and parameters."""

    proposer: str
    model_snapshot: str
    prompt_version: str
    recommended_action: str
    reason_code: str
    requires_human_review: bool | None
    output_class: str
    asked: tuple[tuple[str, str], ...]
    documents: tuple[GivenText, ...]
    draft: Draft
    at: datetime


@dataclass(frozen=True, slots=True)
class ReadingFacts:
    """What a model made of one message: codes, and an order number that is the customer's own or HINT_UNKNOWN."""

    reader: str
    model_snapshot: str
    prompt_version: str
    output_class: str
    detail: str
    intent: str
    problem: str
    language: str
    order_hint: str
    asked: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CustomerWords:
    """Something the customer wrote, and what a model read in it, if one was asked."""

    text: str
    erased: bool
    at: datetime
    reading: ReadingFacts | None
