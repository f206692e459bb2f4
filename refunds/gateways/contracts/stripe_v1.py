"""Stripe's v1 API: the record that the adapter executes."""

from datetime import date, timedelta
from types import MappingProxyType
from typing import Final

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
from refunds.gateways.contracts.record import ProviderContract
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
from refunds.gateways.contracts.stated import (
    Confidence,
    decided,
    documented,
    inferred,
    observed,
    undocumented,
)
from refunds.gateways.contracts.terms import (
    AfterExpiry,
    AmountUnit,
    Cached,
    Compared,
    Consistency,
    Guard,
    KeyTransport,
    Ordering,
    ReplayResult,
    RetentionMeaning,
    WithoutSignal,
)
from refunds.gateways.port import LIST, RETRIEVE, ProviderStatus

_DOCS: Final = "https://docs.stripe.com"
_KEYS: Final = f"{_DOCS}/api/idempotent_requests"
_LOW_LEVEL: Final = f"{_DOCS}/error-low-level"
_ERRORS: Final = f"{_DOCS}/api/errors"
_REFUNDS: Final = f"{_DOCS}/refunds"
_REFUNDS_API: Final = f"{_DOCS}/api/refunds"
_V2: Final = f"{_DOCS}/api-v2-overview"
_EVENTS: Final = f"{_DOCS}/api/events/object"
_LOST_EVENTS: Final = f"{_DOCS}/webhooks/handle-irrecoverable-events"
_WEBHOOKS: Final = f"{_DOCS}/webhooks"
_RATES: Final = f"{_DOCS}/rate-limits"
_CURRENCIES: Final = f"{_DOCS}/currencies"
_REPORTS: Final = f"{_DOCS}/reports/report-types/balance"
_REPORT_OPTIONS: Final = f"{_DOCS}/reports/options"
_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR

_ZERO_DECIMAL: Final = "BIF CLP DJF GNF JPY KMF KRW PYG RWF VND VUV XAF XOF XPF"
_THREE_DECIMAL: Final = "BHD JOD KWD OMR TND"

_AMOUNTS: Final = AmountRules(
    unit=documented(AmountUnit.MINOR_INTEGER, _CURRENCIES, "reports write decimals instead"),
    by_currency=documented(
        MappingProxyType(
            {
                **{currency: AmountRule() for currency in _ZERO_DECIMAL.split()},
                "MGA": AmountRule(iso_units=100),
                **{currency: AmountRule(multiple_of=10) for currency in _THREE_DECIMAL.split()},
                "ISK": AmountRule(provider_units=100, multiple_of=100),
            }
        ),
        _CURRENCIES,
        "no decimals, but ISO 4217 gives MGA two; the last of three decimals must be 0; ISK has two that must be 00",
    ),
    refused_currencies=decided(
        frozenset({"UGX", "IQD", "LYD", "CLF", "UYI", "UYW"}),
        "UGX is listed with no decimals and, as a special case, with two; the others do not have two in ISO 4217 "
        "and are not named on the page about currencies",
    ),
)

_REFUND_EVENTS: Final = ("refund.created", "refund.updated", "refund.failed", "charge.refund.updated")

_LOOKUPS: Final = (
    LookupSurface(
        name=RETRIEVE,
        request=documented("GET /v1/refunds/{id}", f"{_REFUNDS_API}/retrieve"),
        filter=documented("the refund's own id", f"{_REFUNDS_API}/retrieve"),
        consistency=documented(Consistency.STRONG, _V2),
        lag_seconds=documented(0.0, _V2),
        range_seconds=undocumented(None, f"{_REFUNDS_API}/retrieve"),
        correlator=documented("id", f"{_REFUNDS_API}/object"),
        proves_presence=documented(True, f"{_REFUNDS_API}/retrieve"),
        proves_absence=inferred(
            False, f"{_DOCS}/test-mode", "another account or mode answers 404 for an id that exists"
        ),
    ),
    LookupSurface(
        name=LIST,
        request=documented("GET /v1/refunds, every page", f"{_REFUNDS_API}/list"),
        filter=documented("charge or payment_intent", f"{_REFUNDS_API}/list"),
        consistency=documented(Consistency.STRONG, _V2, "lists at the top level are consistent at once"),
        lag_seconds=documented(0.0, _V2),
        range_seconds=undocumented(None, f"{_REFUNDS_API}/list"),
        correlator=documented("metadata[refund_operation_id]", f"{_DOCS}/metadata"),
        proves_presence=documented(True, f"{_REFUNDS_API}/list"),
        proves_absence=inferred(True, _V2, "only under the whole absence rule"),
    ),
    LookupSurface(
        name="charge.refunds",
        request=documented("GET /v1/charges/{id}/refunds", _V2),
        filter=documented("the charge's id", f"{_REFUNDS_API}/list"),
        consistency=documented(Consistency.EVENTUAL, _V2, "some lists below an object lag"),
        lag_seconds=undocumented(None, _V2),
        range_seconds=undocumented(None, _V2, "the ten newest on the charge itself"),
        correlator=documented("metadata[refund_operation_id]", f"{_DOCS}/metadata"),
        proves_presence=documented(True, _V2),
        proves_absence=documented(False, _V2),
    ),
    LookupSurface(
        name="search",
        request=documented("GET /v1/charges/search", f"{_DOCS}/search"),
        filter=documented("query", f"{_DOCS}/search"),
        consistency=documented(Consistency.EVENTUAL, f"{_DOCS}/search"),
        lag_seconds=documented(_HOUR, f"{_DOCS}/search", "in an outage; usually under a minute"),
        range_seconds=undocumented(None, f"{_DOCS}/search"),
        correlator=documented("none: refunds cannot be searched", f"{_DOCS}/search"),
        proves_presence=documented(False, f"{_DOCS}/search"),
        proves_absence=documented(False, f"{_DOCS}/search"),
    ),
    LookupSurface(
        name="events",
        request=documented("GET /v1/events", f"{_WEBHOOKS}/process-undelivered-events"),
        filter=documented("types[]", f"{_WEBHOOKS}/process-undelivered-events"),
        consistency=undocumented(Consistency.UNKNOWN, _EVENTS),
        lag_seconds=undocumented(None, _EVENTS),
        range_seconds=documented(30 * _DAY, _EVENTS),
        correlator=documented("request.idempotency_key, or the object's metadata", _EVENTS),
        proves_presence=documented(True, _EVENTS),
        proves_absence=documented(False, _LOST_EVENTS, "an event may never be made"),
    ),
    LookupSurface(
        name="settlement",
        request=documented("balance_change_from_activity.itemized", _REPORTS),
        filter=documented("a day", _REPORTS),
        consistency=documented(Consistency.BATCH, _REPORTS),
        lag_seconds=documented(1.5 * _DAY, _REPORTS, "a day in UTC is there by noon of the next one"),
        range_seconds=undocumented(None, _REPORTS),
        correlator=documented("refund_metadata[refund_operation_id]", _REPORT_OPTIONS),
        proves_presence=documented(True, _REPORTS),
        proves_absence=inferred(False, _REFUNDS, "a pending refund may have no balance transaction yet"),
    ),
)

_ABSENCE: Final = AbsenceRule(
    possible=inferred(True, _V2, "a strong list, and nothing is kept under a key before execution begins"),
    needs_untouched_payment=inferred(
        False, f"{_DOCS}/metadata", "our id in the metadata tells ours from others"
    ),
    needs_answer_code=undocumented(None, _ERRORS),
    needs_no_new_refund=inferred(False, f"{_DOCS}/metadata", "a refund of ours always carries our id"),
    waits_for_in_flight_horizon=inferred(True, _ERRORS, "409: a request may run while the list is read"),
    needs_same_account=documented(True, f"{_DOCS}/connect/authentication"),
    unknown_payment_is_an_error=documented(
        True,
        f"{_REFUNDS_API}/list",
        "no empty list: so what was listed was in the payment's account and mode",
    ),
)

STRIPE_V1: Final = ProviderContract(
    provider="stripe",
    pinned_version=documented(
        "2026-10-28.endive", f"{_DOCS}/api/versioning", "an account's upgrade cannot change an answer's shape"
    ),
    review=Review(
        version=decided("2026-11-29", "the day of the review names the record"),
        reviewed_on=decided(date(2026, 11, 29), "every page below was read on this day"),
        valid_seconds=decided(365 * _DAY, "pages change; once a year somebody must read them again"),
    ),
    key=KeyRule(
        transport=documented(KeyTransport.HEADER, _KEYS),
        name=documented("Idempotency-Key", _KEYS),
        max_length=documented(255, _KEYS),
        characters=decided("printable ASCII", "what every header can carry", Confidence.UNDOCUMENTED),
        scope=documented(
            ("account", "endpoint", "mode"),
            _LOW_LEVEL,
            "the endpoint by github.com/stripe/stripe-ruby/issues/598; whether a connected account has keys of its "
            "own is not stated, so keys are unique everywhere and an operation never changes its account",
        ),
        required=documented(
            False, _KEYS, "without a key nothing protects; the adapter never sends one without"
        ),
    ),
    retention=RetentionRule(
        seconds=documented(_DAY, _KEYS),
        meaning=documented(RetentionMeaning.FLOOR, _KEYS, "pruned once they are at least so old"),
        after_expiry=documented(AfterExpiry.EXECUTES_AGAIN, _KEYS),
    ),
    resend=ResendRule(
        safe_seconds=decided(22 * _HOUR, "two hours for clocks, queues and a slow call"),
        least_margin_seconds=decided(_HOUR, "no setting may come nearer to the end of a key than this"),
    ),
    replay=ReplayRule(
        result=documented(ReplayResult.FIRST_ANSWER, _KEYS),
        marker=documented("Idempotent-Replayed", _LOW_LEVEL),
        marker_value=documented("true", _LOW_LEVEL),
    ),
    mismatch=MismatchRule(
        compared=documented(Compared.ALL, _KEYS, "and the endpoint"),
        http=observed(400, "https://github.com/stripe/stripe-ruby/issues/503"),
        error_type=documented("idempotency_error", _ERRORS),
        code=observed(None, "https://github.com/stripe/stripe-ruby/issues/503"),
        carries_original_id=observed(False, "https://github.com/stripe/stripe-ruby/issues/503"),
    ),
    in_flight=InFlightRule(
        http=documented(frozenset({409}), _ERRORS),
        code=documented("idempotency_key_in_use", f"{_DOCS}/error-codes", "the type differs between sources"),
        cached=documented(Cached.NOT_CACHED, _KEYS),
        horizon_seconds=decided(
            0.25 * _HOUR,
            "no longest execution time is stated; before it an empty list proves nothing",
            Confidence.UNDOCUMENTED,
        ),
    ),
    failures=FailureCaching(
        validation_4xx=documented(Cached.NOT_CACHED, _KEYS),
        business_4xx=documented(Cached.CACHED, _KEYS, "execution had begun"),
        limiter_429=documented(Cached.NOT_CACHED, _LOW_LEVEL, "limiters run before the keys are looked at"),
        server_500=documented(Cached.CACHED, _KEYS, "the same 500 for ever: a replay says nothing"),
        gateway_5xx=undocumented(Cached.UNKNOWN, _LOW_LEVEL),
    ),
    server_errors=ServerErrorRule(
        late_effects=documented(
            frozenset({500}), _LOW_LEVEL, "Stripe may make or undo the effects later and tells by event only"
        ),
        late_effect_horizon_seconds=undocumented(None, _LOW_LEVEL),
    ),
    retry_signal=RetrySignal(
        header=documented("Stripe-Should-Retry", _LOW_LEVEL),
        retry_value=documented("true", _LOW_LEVEL),
        stop_value=documented("false", _LOW_LEVEL),
        when_absent=documented(WithoutSignal.DECIDE_BY_STATUS, _LOW_LEVEL),
    ),
    guard=NaturalGuard(
        full_refund=documented(Guard.CAP, _REFUNDS_API),
        partial_refund=inferred(Guard.NONE, _REFUNDS, "a second part of the same amount is accepted"),
        collision_codes=undocumented(
            frozenset(), f"{_DOCS}/error-codes", "'already refunded' does not say by whom"
        ),
    ),
    limits=Limits(
        requests_per_second=documented(25.0, _RATES, "of one endpoint, and of a sandbox; 100 in live mode"),
        one_at_a_time_per_payment=documented(True, _RATES, "lock_timeout: changes of one object take turns"),
        read_budget=documented(500, _RATES),
        read_budget_period_seconds=documented(30 * _DAY, _RATES),
        refund_time_limit_seconds=undocumented(
            None, _REFUNDS, "none for cards; bank transfers have 180 days"
        ),
    ),
    amounts=_AMOUNTS,
    lookups=_LOOKUPS,
    absence=_ABSENCE,
    status_words=StatusRule(
        of_objects=documented(
            MappingProxyType(
                {
                    "succeeded": ProviderStatus.SUCCEEDED,
                    "pending": ProviderStatus.PENDING,
                    "requires_action": ProviderStatus.REQUIRES_ACTION,
                    "failed": ProviderStatus.FAILED,
                    "canceled": ProviderStatus.CANCELED,
                }
            ),
            f"{_REFUNDS_API}/object",
        ),
        of_events=documented(
            MappingProxyType({}), _WEBHOOKS, "events are old snapshots in any order: the object is fetched"
        ),
        not_final=documented(frozenset({"pending", "requires_action", "succeeded"}), _REFUNDS),
        late_failure_horizon_seconds=documented(30 * _DAY, _REFUNDS),
    ),
    webhook=WebhookRule(
        events=documented(
            frozenset(f"{thin}{kind}" for thin in ("", "v1.") for kind in _REFUND_EVENTS),
            f"{_DOCS}/changelog/acacia/2024-10-28/refund-webhook-update",
            "and their thin twins, as the official library lists them",
        ),
        ordering=documented(Ordering.NONE, _WEBHOOKS),
        duplicates=documented(True, _WEBHOOKS),
        retry_horizon_seconds=documented(3 * _DAY, _WEBHOOKS),
        algorithm=documented("HMAC-SHA256, hex, scheme v1", _WEBHOOKS),
        signed_parts=documented("time of signing, a dot, the raw body", _WEBHOOKS),
        tolerance_seconds=documented(300.0, _WEBHOOKS, "into the past; here into the future as well"),
        rotation_seconds=documented(_DAY, _WEBHOOKS),
        unsigned_fields=documented((), _WEBHOOKS),
    ),
    settlement=SettlementRule(
        report=documented("balance_change_from_activity, payout_reconciliation", _REPORTS),
        lag_seconds=documented(1.5 * _DAY, _REPORTS),
        operation_column=documented("refund_metadata[refund_operation_id]", _REPORT_OPTIONS),
        refund_categories=documented(
            frozenset({"REFUND"}),
            f"{_DOCS}/reports/reporting-categories",
            "in the ledger's spelling; partial_capture_reversal is nobody's refund",
        ),
    ),
    checks=CheckPlan(
        intervals=decided(
            (
                timedelta(seconds=30),
                timedelta(minutes=2),
                timedelta(minutes=5),
                timedelta(minutes=15),
                timedelta(minutes=30),
                timedelta(hours=1),
                timedelta(hours=2),
                timedelta(hours=4),
            ),
            "some eight hours of look-ups: a person has most of the safe window left",
        ),
    ),
)
