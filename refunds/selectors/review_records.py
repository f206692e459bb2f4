"""What the review console shows, as plain frozen values: no query set or model ever reaches a template."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from refunds.selectors.review_charges import ChargeComparison
from refunds.selectors.review_said import CustomerWords, ProposalFacts


@dataclass(frozen=True, slots=True)
class Reviewer:
    """A member of staff: the merchants whose cases they may read, and those they may decide for."""

    user_id: int
    merchant_ids: frozenset[int]
    approves_for: frozenset[int]


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """What a reviewer looks for: one kind of case, whose it is, or a ticket, order number, reference or id.

    ``whose`` is ``mine``, ``unclaimed`` or ``overdue``.
    """

    kind: str = ""
    text: str = ""
    whose: str = ""

    @property
    def is_set(self) -> bool:
        """Return whether anything is filtered away."""
        return bool(self.kind or self.text or self.whose)


@dataclass(frozen=True, slots=True)
class Lease:
    """Who works on a case until when; a lease that ran out may be taken over."""

    holder: str
    until: datetime
    is_mine: bool
    runs: bool


@dataclass(frozen=True, slots=True)
class Promise:
    """By when people promised to look at a case; ``late`` is by how much that has passed, or zero."""

    due_at: datetime
    left: timedelta
    late: timedelta

    @property
    def is_late(self) -> bool:
        """Return whether the promise is broken."""
        return self.late > timedelta(0)


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One open case in the queue; ``amount`` is empty while no amount is established, as is the order's number."""

    ticket: int
    kind: str
    reason: str
    opened_at: datetime
    waiting: timedelta
    merchant_name: str
    order_number: str
    reference: str
    state: str
    amount: str
    amount_minor_units: int | None  # of a request; a case about the books may tell of several amounts
    currency: str
    votes: int
    approvals_needed: int
    proposed: bool  # a colleague's proposal about its operation waits for a second person
    promise: Promise | None
    lease: Lease | None


@dataclass(frozen=True, slots=True)
class ClosedCase:
    """The case that was closed last."""

    ticket: int
    closed_at: datetime


@dataclass(frozen=True, slots=True)
class QueuePage:
    """One page of the queue, oldest first; ``last_closed`` is looked up only when nothing is waiting."""

    rows: tuple[QueueRow, ...]
    total: int
    page: int
    pages: int
    last_closed: ClosedCase | None


@dataclass(frozen=True, slots=True)
class OrderFacts:
    """The order as the merchant's records have it; an unknown total is empty."""

    number: str
    description: str
    product_type: str
    status: str
    total: str
    placed_at: datetime
    customer_reference: str


@dataclass(frozen=True, slots=True)
class LedgerFacts:
    """The charges that the finding was made on, and every ledger row that changed since."""

    source: str
    taken_at: datetime
    snapshot_sha256: str
    charges: ChargeComparison
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FindingFacts:
    """What the ledger rows establish (stage 5)."""

    finding: str
    reason_code: str
    proving_rows: tuple[str, ...]
    target_reference: str
    kept_reference: str


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """The policy version that decides."""

    label: str
    effective_from: datetime
    effective_to: datetime | None
    source_reference: str
    approved_by: str
    auto_limit: str


@dataclass(frozen=True, slots=True)
class RuleFact:
    """One of the seven checks (stage 7)."""

    rule: str
    version: str
    result: str
    outcome: str
    inputs: tuple[tuple[str, str], ...]
    policy_version: str


@dataclass(frozen=True, slots=True)
class ApprovalFacts:
    """One decision about one exact command. Votes are a count: a second person decides unswayed."""

    approval_id: str
    state: str
    needed: int
    votes: int
    fingerprint: str
    maker_id: str
    rule: str
    policy_version: str
    amount: str
    currency: str
    target: str
    valid_for_hours: int
    expires_at: datetime | None
    by_reviewer: bool
    voted_by_reviewer: bool

    @property
    def fingerprint_prefix(self) -> str:
        """Return enough of the fingerprint for two people to compare aloud: ``9f3a 77c1``."""
        return f"{self.fingerprint[:4]} {self.fingerprint[4:8]}"


@dataclass(frozen=True, slots=True)
class AttemptFact:
    """One call to the provider; ``answer_class`` is empty while no answer is recorded."""

    attempt_id: str
    number: int
    started_at: datetime
    answer_class: str
    http_status: int | None
    error: str
    processor_reference: str
    provider_status: str
    detail: str
    replayed: bool
    received_at: datetime | None


@dataclass(frozen=True, slots=True)
class CheckFact:
    """One reconciliation check: what was asked, what it proved."""

    number: int
    verdict: str
    at: datetime
    sources: tuple[str, ...]
    explanation: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttachmentFact:
    """What a person found at the provider; ``words`` are empty once erased, and no evidence any more then."""

    kind: str
    provider_reference: str
    seen_at: str
    words: str
    erased: bool
    sha256: str


@dataclass(frozen=True, slots=True)
class ProposalAboutOperation:
    """A colleague's proposal to give an operation up, which another person confirms or declines."""

    approval_id: str
    number: int
    state: str
    fingerprint: str
    statement: str
    made_by: str
    by_reviewer: bool
    made_at: datetime
    attachments: tuple[AttachmentFact, ...]

    @property
    def fingerprint_prefix(self) -> str:
        """Return enough of the fingerprint for two people to compare aloud: ``9f3a 77c1``."""
        return f"{self.fingerprint[:4]} {self.fingerprint[4:8]}"


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """One financial instruction with every call and check about it, and what people proposed about it."""

    operation_id: str
    state: str
    amount: str
    payment_reference: str
    idempotency_key: str
    processor_reference: str
    fingerprint: str
    next_check_at: datetime | None
    attempts: tuple[AttemptFact, ...]
    checks: tuple[CheckFact, ...]
    proposals: tuple[ProposalAboutOperation, ...] = ()


@dataclass(frozen=True, slots=True)
class EventFact:
    """One event of the request, its approvals or its operations."""

    at: datetime
    subject: str
    from_state: str
    to_state: str
    stage: str
    actor: str
    reason: str
    policy_version: str
    note: str = ""  # what a reviewer wrote beside a decision; empty once erased


@dataclass(frozen=True, slots=True)
class ReceiptFact:
    """One message that the customer is owed, and how its delivery stands."""

    logical_event_id: str
    state: str  # DELIVERED, FAILED or WAITING
    attempts: int
    last_outcome: str
    next_attempt_at: datetime | None


@dataclass(frozen=True, slots=True)
class CaseEvidence:
    """Everything that one case rests on."""

    ticket: int
    kind: str
    reasons: tuple[str, ...]
    opened_at: datetime
    waiting: timedelta
    closed_at: datetime | None
    closed_because: str
    merchant_id: int
    merchant_name: str
    workflow_id: str
    reference: str
    state: str
    repeat_contacts: int
    about_reviewer: bool  # the reviewer is its customer, or started it: somebody else must decide
    about_customer_self: bool  # the reviewer is its customer: somebody else must work on it
    started_by: str  # the member of staff who opened it; empty for a customer's request
    promise: Promise | None
    lease: Lease | None
    amount: str
    order: OrderFacts | None
    ledger: LedgerFacts | None
    finding: FindingFacts | None
    policy: PolicyFacts | None
    rules: tuple[RuleFact, ...]
    approval: ApprovalFacts | None
    operations: tuple[OperationFacts, ...]
    timeline: tuple[EventFact, ...]
    receipts: tuple[ReceiptFact, ...]
    words: tuple[CustomerWords, ...]
    proposal: ProposalFacts | None
