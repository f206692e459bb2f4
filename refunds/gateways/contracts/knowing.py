"""What a contract says about finding out: look-ups, absence, statuses, events, reports. Pure. Windows are seconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from refunds.gateways.contracts.stated import Stated
from refunds.gateways.contracts.terms import Consistency, Ordering
from refunds.gateways.port import ProviderStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupSurface:
    """One thing that can be read. ``name`` is how look-up answers call it.

    ``lag_seconds`` is how long what was made may stay out of sight. ``proves_absence``: a complete read without our
    refund says something, under the whole of the absence rule; elsewhere it says nothing, ever.
    """

    name: str
    request: Stated[str]
    filter: Stated[str]
    consistency: Stated[Consistency]
    lag_seconds: Stated[float | None]
    range_seconds: Stated[float | None]
    correlator: Stated[str]
    proves_presence: Stated[bool]
    proves_absence: Stated[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsenceRule:
    """What must all hold, beside a complete surface that proves absence, before a refund is called absent."""

    possible: Stated[bool]
    needs_untouched_payment: Stated[bool]  # the payment itself says that no refund of it exists
    needs_answer_code: Stated[str | None]  # the provider said that this key made nothing and never will
    needs_no_new_refund: Stated[bool]  # of anybody: our id may be missing on our own
    waits_for_in_flight_horizon: Stated[bool]
    needs_same_account: Stated[bool]
    unknown_payment_is_an_error: Stated[
        bool
    ]  # so an answered look-up was made in the payment's account and mode


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRule:
    """The provider's words for a refund. ``of_events`` are events whose own signed words state a status."""

    of_objects: Stated[Mapping[str, ProviderStatus]]
    of_events: Stated[Mapping[str, ProviderStatus]]
    not_final: Stated[frozenset[str]]
    late_failure_horizon_seconds: Stated[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRule:
    """Events and their signature. ``unsigned_fields`` can be changed by whoever passes an event on."""

    events: Stated[frozenset[str]]
    ordering: Stated[Ordering]
    duplicates: Stated[bool]
    retry_horizon_seconds: Stated[float | None]
    algorithm: Stated[str]
    signed_parts: Stated[str]
    tolerance_seconds: Stated[float | None]
    rotation_seconds: Stated[float | None]
    unsigned_fields: Stated[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlementRule:
    """The report about money that moved. ``refund_categories``: lines that show a customer's refund."""

    report: Stated[str | None]
    lag_seconds: Stated[float | None]
    operation_column: Stated[str | None]
    refund_categories: Stated[frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPlan:
    """The growing waits between look-ups; after the last one people take over."""

    intervals: Stated[tuple[timedelta, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """When the record was last compared with the provider's pages, and how long that counts."""

    version: Stated[str]
    reviewed_on: Stated[date]
    valid_seconds: Stated[float]
