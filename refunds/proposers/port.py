"""The port between the desk and whatever proposes: what may leave the process, and what may come back.

Stage 6. A proposer recommends; it never authenticates, selects a payment, names an amount or executes. It
does not raise for anything an endpoint does or says: it answers with one of three closed results.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from refunds.proposers.characters import has_unsafe_characters
from refunds.proposers.schema import ProposedAction

Scalar = str | int | float | bool
MAX_CUSTOMER_TEXT: Final = (
    1000  # of each untrusted text: the customer's, an order's note, the merchant's prose
)
_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class ProposalContext:
    """Everything a proposer may know: codes of established facts, and what people wrote as data.

    There is no room for an amount, currency, name, customer, merchant, order or payment. `finding`,
    `reason_code` and `problem` are UPPER_SNAKE codes; `policy_version` is a label. The three texts are untrusted,
    come from `prepare_customer_text` and may be absent: the customer's words, the shop's note on the order, and the
    prose of the policy with what house texts say. Raises ValueError for anything else.
    """

    finding: str
    reason_code: str
    problem: str | None
    policy_version: str
    allowed_actions: tuple[ProposedAction, ...]
    customer_text: str | None = field(default=None, repr=False)
    order_note: str | None = field(default=None, repr=False)
    policy_text: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        codes = (self.finding, self.reason_code, *(() if self.problem is None else (self.problem,)))
        if not all(_CODE.fullmatch(code) for code in codes):
            raise ValueError("finding, reason_code and problem are UPPER_SNAKE codes")
        if not _LABEL.fullmatch(self.policy_version):
            raise ValueError("policy_version is a short label")
        if not all(isinstance(action, ProposedAction) for action in self.allowed_actions):
            raise ValueError("allowed_actions holds ProposedAction members only")
        if not all(map(is_prepared, (self.customer_text, self.order_note, self.policy_text))):
            raise ValueError("customer_text, order_note and policy_text must come from prepare_customer_text")


def is_prepared(text: str | None) -> bool:
    """Say whether an untrusted text is absent, or bounded and free of unsafe characters."""
    return text is None or (len(text) <= MAX_CUSTOMER_TEXT and not has_unsafe_characters(text))


class UnavailableKind(StrEnum):
    """Why there is no answer of this model. The next in line may be asked instead.

    The first group is what an endpoint did; the second is why it was not asked, or its answer not taken.
    """

    TIMEOUT = "TIMEOUT"
    RATE_LIMITED = "RATE_LIMITED"
    SERVER_ERROR = "SERVER_ERROR"
    CONNECTION_FAILED = "CONNECTION_FAILED"
    REQUEST_REFUSED = "REQUEST_REFUSED"
    UNREADABLE_ANSWER = "UNREADABLE_ANSWER"
    STREAMED_ANSWER = (
        "STREAMED_ANSWER"  # a stream of events, though none was asked for; no part of it is used
    )

    CIRCUIT_OPEN = "CIRCUIT_OPEN"
    NOT_QUALIFIED = "NOT_QUALIFIED"
    QUALIFICATION_EXPIRED = "QUALIFICATION_EXPIRED"
    MODEL_CHANGED = (
        "MODEL_CHANGED"  # another snapshot, or another form of answer, than the one that qualified
    )


class DeclinedKind(StrEnum):
    """How a model answered without proposing. Asking the same question again does not help."""

    REFUSAL = "REFUSAL"
    CONTENT_FILTER = "CONTENT_FILTER"
    TRUNCATED = "TRUNCATED"
    EMPTY = "EMPTY"
    TOOL_CALL = "TOOL_CALL"


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """A model said something. `raw_text` is untrusted, possibly malformed, and belongs in no log.

    The digests are SHA-256 in hex, of the prompt's file, of the document that stood in the user message, and of the
    whole request as canonical JSON. `parameters` are those of the request that was answered, with the form of answer
    that it asked for and the host of its address. All are empty where nothing left the process.
    """

    raw_text: str = field(repr=False)
    model_snapshot: str
    prompt_version: str
    latency_ms: int
    requests: int
    prompt_sha256: str = ""
    context_sha256: str = ""
    request_sha256: str = ""
    parameters: dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Unavailable:
    """No answer could be had inside the deadline. `detail` has closed wording, no text from the wire."""

    kind: UnavailableKind
    detail: str
    requests: int
    latency_ms: int


@dataclass(frozen=True, kw_only=True)
class Declined:
    """A model answered without a proposal. `raw_text` is kept for the redacted record only, never shown.

    The digests and parameters are those of `Proposed`.
    """

    kind: DeclinedKind
    detail: str
    model_snapshot: str
    prompt_version: str
    latency_ms: int
    requests: int
    raw_text: str = field(default="", repr=False)
    prompt_sha256: str = ""
    context_sha256: str = ""
    request_sha256: str = ""
    parameters: dict[str, Scalar] = field(default_factory=dict)


ProposalResult = Proposed | Unavailable | Declined


class Proposer(Protocol):
    """Something that can be asked for a proposal."""

    def propose(
        self, context: ProposalContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> ProposalResult:
        """Ask once, within `deadline_seconds` of wall-clock time that include every retry.

        `repair_of` is the `raw_text` of an answer that `parse_proposal` called repairable; its defect is told
        to the model. Raises ValueError for any other text: a rejected answer is never asked for again.
        """
        ...
