"""ProviderContract: everything that sending, finding out and settling rest on, each value with its source. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, time, timedelta

from refunds.gateways.contracts.amounts import AmountRule, AmountRules
from refunds.gateways.contracts.knowing import (
    AbsenceRule,
    CheckPlan,
    LookupSurface,
    Review,
    SettlementRule,
    StatusRule,
    WebhookRule,
)
from refunds.gateways.contracts.sending import (
    FailureCaching,
    InFlightRule,
    KeyRule,
    Limits,
    MismatchRule,
    NaturalGuard,
    ReplayRule,
    ResendRule,
    RetentionRule,
    RetrySignal,
    ServerErrorRule,
)
from refunds.gateways.contracts.stated import Stated
from refunds.gateways.port import ProviderStatus


class ContractOverrideError(ValueError):
    """If you see this, GATEWAY_CONTRACT_OVERRIDES names a window that does not exist or cannot hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderContract:
    """One provider's record. The properties are the plain values that most code asks for."""

    provider: str
    pinned_version: Stated[str]
    review: Review
    key: KeyRule
    retention: RetentionRule
    resend: ResendRule
    replay: ReplayRule
    mismatch: MismatchRule
    in_flight: InFlightRule
    failures: FailureCaching
    server_errors: ServerErrorRule
    retry_signal: RetrySignal
    guard: NaturalGuard
    limits: Limits
    amounts: AmountRules
    lookups: tuple[LookupSurface, ...]
    absence: AbsenceRule
    status_words: StatusRule
    webhook: WebhookRule
    settlement: SettlementRule
    checks: CheckPlan

    def __post_init__(self) -> None:
        waits, kept = self.reconciliation_intervals, self.idempotency_key_retention_seconds
        if not 0 < self.safe_resend_seconds <= kept - self.resend_margin_seconds:
            raise ContractOverrideError(
                "safe_resend_seconds must lie inside idempotency_key_retention_seconds and leave a margin of "
                f"{self.resend_margin_seconds:g} seconds"
            )
        if self.in_flight_horizon_seconds <= 0:
            raise ContractOverrideError("in_flight_horizon_seconds must be positive")
        if not waits or waits[0] <= timedelta(0) or list(waits) != sorted(waits):
            raise ContractOverrideError("reconciliation_intervals must be positive and must not shrink")
        if self.review.valid_seconds.value <= 0:
            raise ContractOverrideError("review_valid_seconds must be positive")

    @property
    def api_version(self) -> str:
        """The version that every request names; answers keep their shape with it."""
        return self.pinned_version.value

    @property
    def idempotency_key_max_length(self) -> int:
        """The longest key, in characters; where no limit is stated, what every provider takes."""
        longest = self.key.max_length.value
        return 36 if longest is None else longest

    @property
    def idempotency_key_retention_seconds(self) -> float:
        """How long a key stands for its first use."""
        return self.retention.seconds.value

    @property
    def safe_resend_seconds(self) -> float:
        """How long after its first use a key may be sent again."""
        return self.resend.safe_seconds.value

    @property
    def resend_margin_seconds(self) -> float:
        """What must be left of a key's retention when it is sent for the last time; short test windows need less."""
        return min(self.resend.least_margin_seconds.value, self.idempotency_key_retention_seconds / 24)

    @property
    def in_flight_horizon_seconds(self) -> float:
        """How long a call may still be executing after it was begun."""
        return self.in_flight.horizon_seconds.value

    @property
    def reconciliation_intervals(self) -> tuple[timedelta, ...]:
        """The growing waits between look-ups."""
        return self.checks.intervals.value

    @property
    def read_budget(self) -> int:
        """How many reads one payment is worth."""
        return self.limits.read_budget.value

    @property
    def amount_rules(self) -> Mapping[str, AmountRule]:
        """Currencies that are not written in ISO minor units, or not in all of them."""
        return self.amounts.by_currency.value

    @property
    def refused_currencies(self) -> frozenset[str]:
        """Currencies without a settled rule; nothing is sent in them."""
        return self.amounts.refused_currencies.value

    @property
    def statuses(self) -> Mapping[str, ProviderStatus]:
        """The provider's words for the state of a refund object."""
        return self.status_words.of_objects.value

    @property
    def review_ends(self) -> datetime:
        """When the record was last reviewed too long ago; then no silence is weighed and nothing is sent again."""
        reviewed = datetime.combine(self.review.reviewed_on.value, time(tzinfo=UTC))
        return reviewed + timedelta(seconds=self.review.valid_seconds.value)

    def is_current(self, now: datetime) -> bool:
        """Tell whether the record may still be trusted about what the provider does not say."""
        return now < self.review_ends

    def provider_amount(self, *, amount_minor_units: int, currency: str) -> int:
        """Return the provider's number for an amount; raises AmountNotRepresentableError."""
        return self.amounts.provider_amount(amount_minor_units=amount_minor_units, currency=currency)

    def minor_units(self, *, provider_amount: int, currency: str) -> int:
        """Return ISO minor units for the provider's number; raises AmountNotRepresentableError."""
        return self.amounts.minor_units(provider_amount=provider_amount, currency=currency)

    def status(self, provider_status: str) -> ProviderStatus:
        """Return the status for the provider's word; its lists are open, so an unknown word is expected."""
        return self.statuses.get(provider_status, ProviderStatus.UNRECOGNISED)

    def surface(self, name: str) -> LookupSurface | None:
        """Return what the contract says of a look-up surface, or None if it names no such one."""
        return next((surface for surface in self.lookups if surface.name == name), None)

    def statements(self) -> Iterator[tuple[str, Stated[object]]]:
        """Yield every value with its dotted name: ``in_flight.horizon_seconds``, ``lookups.refunds.list.filter``."""
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, Stated):
                yield part.name, value
            elif part.name == "lookups":
                for surface in self.lookups:
                    yield from _stated_of(f"lookups.{surface.name}", surface)
            elif part.name != "provider":
                yield from _stated_of(part.name, value)


def _stated_of(prefix: str, group: object) -> Iterator[tuple[str, Stated[object]]]:
    for part in fields(group):  # type: ignore[arg-type]  # every group is a dataclass
        value = getattr(group, part.name)
        if isinstance(value, Stated):
            yield f"{prefix}.{part.name}", value
