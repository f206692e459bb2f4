"""What a contract says about sending a refund: keys, answers, retries and limits. Pure. Windows are seconds."""

from dataclasses import dataclass

from refunds.gateways.contracts.stated import Stated
from refunds.gateways.contracts.terms import (
    AfterExpiry,
    Cached,
    Compared,
    Guard,
    KeyTransport,
    ReplayResult,
    RetentionMeaning,
    WithoutSignal,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRule:
    """The idempotency key. ``scope`` names what a key is unique within."""

    transport: Stated[KeyTransport]
    name: Stated[str]
    max_length: Stated[int | None]
    characters: Stated[str]
    scope: Stated[tuple[str, ...]]
    required: Stated[bool]  # without one the provider refuses


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionRule:
    """How long a key stands for its first use."""

    seconds: Stated[float]
    meaning: Stated[RetentionMeaning]
    after_expiry: Stated[AfterExpiry]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResendRule:
    """How long after its first use a key may be sent again, and what must be left of its retention then."""

    safe_seconds: Stated[float]
    least_margin_seconds: Stated[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRule:
    """What comes back for a key that was used before; ``marker`` is the header that says so."""

    result: Stated[ReplayResult]
    marker: Stated[str | None]
    marker_value: Stated[str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MismatchRule:
    """A key that comes again with another request. ``http``, ``error_type`` and ``code`` are the answer to it."""

    compared: Stated[Compared]
    http: Stated[int | None]
    error_type: Stated[str | None]
    code: Stated[str | None]
    carries_original_id: Stated[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlightRule:
    """A key that comes while its first request still runs, and how long that may be."""

    http: Stated[frozenset[int]]
    code: Stated[str | None]
    cached: Stated[Cached]
    horizon_seconds: Stated[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCaching:
    """Which failures are kept under the key and come again."""

    validation_4xx: Stated[Cached]
    business_4xx: Stated[Cached]
    limiter_429: Stated[Cached]
    server_500: Stated[Cached]
    gateway_5xx: Stated[Cached]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerErrorRule:
    """``late_effects``: statuses after which a refund may still be made, or undone, at any later time."""

    late_effects: Stated[frozenset[int]]
    late_effect_horizon_seconds: Stated[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrySignal:
    """How an answer says whether trying again makes sense."""

    header: Stated[str | None]
    retry_value: Stated[str | None]
    stop_value: Stated[str | None]
    when_absent: Stated[WithoutSignal]


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalGuard:
    """What stops a second refund without a key; a ``collision_codes`` answer means that the first one exists."""

    full_refund: Stated[Guard]
    partial_refund: Stated[Guard]
    collision_codes: Stated[frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much may be asked. ``read_budget`` is for one payment within its period."""

    requests_per_second: Stated[float | None]
    one_at_a_time_per_payment: Stated[bool]
    read_budget: Stated[int]
    read_budget_period_seconds: Stated[float | None]
    refund_time_limit_seconds: Stated[float | None]
