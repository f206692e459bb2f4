"""Adyen's Checkout API, version 72: a record without an adapter, held against the verdicts."""

from datetime import date, timedelta
from types import MappingProxyType
from typing import Final

from refunds.gateways.contracts.amounts import AmountRules
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
    in_library,
    inferred,
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
from refunds.gateways.port import ProviderStatus

_DOCS: Final = "https://docs.adyen.com"
_KEYS: Final = f"{_DOCS}/development-resources/api-idempotency"
_SPEC: Final = "https://github.com/Adyen/adyen-openapi"
_WEBHOOKS: Final = f"{_DOCS}/point-of-sale/basic-tapi-integration/refund-payment/refund-webhooks"
_DELIVERY: Final = f"{_DOCS}/development-resources/webhooks/troubleshoot"
_NOT_PROCESSED: Final = f"{_DOCS}/reporting/modifications-not-processed"
_LIBRARY: Final = "https://github.com/Adyen/adyen-python-api-library"
_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR

_LOOKUPS: Final = (
    LookupSurface(
        name="events",
        request=documented("webhook REFUND, REFUND_FAILED, REFUNDED_REVERSED", _WEBHOOKS),
        filter=documented("none: they are sent", _WEBHOOKS),
        consistency=undocumented(Consistency.UNKNOWN, _DELIVERY),
        lag_seconds=undocumented(None, _DELIVERY, "sent again for up to 30 days"),
        range_seconds=documented(30 * _DAY, _DELIVERY),
        correlator=documented("merchantReference, or pspReference with originalReference", _SPEC),
        proves_presence=documented(True, _WEBHOOKS),
        proves_absence=inferred(False, _DELIVERY, "one that was not received yet looks like none"),
    ),
    LookupSurface(
        name="settlement",
        request=documented("report of modifications that were not processed", _NOT_PROCESSED),
        filter=documented("a day", _NOT_PROCESSED),
        consistency=documented(Consistency.BATCH, _NOT_PROCESSED),
        lag_seconds=undocumented(None, _NOT_PROCESSED),
        range_seconds=undocumented(None, _NOT_PROCESSED),
        correlator=documented("Merchant Reference", _NOT_PROCESSED),
        proves_presence=inferred(True, _NOT_PROCESSED, "that the request arrived and was refused"),
        proves_absence=inferred(False, _NOT_PROCESSED, "it lists only what was received"),
    ),
)

ADYEN_V72: Final = ProviderContract(
    provider="adyen",
    pinned_version=documented("checkout-v72", _SPEC),
    review=Review(
        version=decided("2026-11-29", "the day of the review names the record"),
        reviewed_on=decided(date(2026, 11, 29), "every page below was read on this day"),
        valid_seconds=decided(365 * _DAY, "pages change; once a year somebody must read them again"),
    ),
    key=KeyRule(
        transport=documented(KeyTransport.HEADER, _KEYS),
        name=documented("Idempotency-Key", _KEYS),
        max_length=documented(64, _KEYS),
        characters=decided("printable ASCII", "what every header can carry", Confidence.UNDOCUMENTED),
        scope=documented(
            ("company account", "region"), _KEYS, "another region does not know the key and executes again"
        ),
        required=documented(
            False, _KEYS, "going on without one while the key store is down is never done here"
        ),
    ),
    retention=RetentionRule(
        seconds=documented(7 * _DAY, _KEYS, "older copies of the page say 31 days"),
        meaning=documented(RetentionMeaning.FLOOR, _KEYS),
        after_expiry=undocumented(AfterExpiry.UNKNOWN, _KEYS),
    ),
    resend=ResendRule(
        safe_seconds=decided(6 * _DAY, "a day for clocks, queues and a slow call"),
        least_margin_seconds=decided(_HOUR, "no setting may come nearer to the end of a key than this"),
    ),
    replay=ReplayRule(
        result=documented(ReplayResult.FIRST_ANSWER, _KEYS),
        marker=documented(
            "idempotency-key", _KEYS, "comes back when the key was looked at, also the first time"
        ),
        marker_value=undocumented(None, _KEYS),
    ),
    mismatch=MismatchRule(
        compared=undocumented(Compared.UNKNOWN, _KEYS),
        http=undocumented(None, _KEYS),
        error_type=undocumented(None, _KEYS),
        code=undocumented(None, _KEYS),
        carries_original_id=undocumented(False, _KEYS),
    ),
    in_flight=InFlightRule(
        http=documented(frozenset({409, 422}), _KEYS),
        code=documented("704", _KEYS),
        cached=undocumented(Cached.UNKNOWN, _KEYS),
        horizon_seconds=decided(0.25 * _HOUR, "no longest execution time is stated", Confidence.UNDOCUMENTED),
    ),
    failures=FailureCaching(
        validation_4xx=undocumented(Cached.UNKNOWN, _KEYS),
        business_4xx=undocumented(Cached.UNKNOWN, _KEYS),
        limiter_429=undocumented(Cached.UNKNOWN, _KEYS),
        server_500=undocumented(Cached.UNKNOWN, _KEYS),
        gateway_5xx=documented(Cached.NOT_CACHED, _KEYS, "503 with 703: the key store was down, transient"),
    ),
    server_errors=ServerErrorRule(
        late_effects=decided(frozenset({500}), "not stated, so taken as possible", Confidence.UNDOCUMENTED),
        late_effect_horizon_seconds=undocumented(None, _KEYS),
    ),
    retry_signal=RetrySignal(
        header=documented("transient-error", _KEYS),
        retry_value=documented("true", _KEYS),
        stop_value=documented("false", _KEYS),
        when_absent=documented(WithoutSignal.DO_NOT_RETRY, _KEYS),
    ),
    guard=NaturalGuard(
        full_refund=documented(Guard.CAP, _SPEC, "parts may not add up to more than was captured"),
        partial_refund=inferred(Guard.NONE, _SPEC, "a second part of the same amount is accepted"),
        collision_codes=undocumented(frozenset(), _SPEC),
    ),
    limits=Limits(
        requests_per_second=undocumented(None, _SPEC),
        one_at_a_time_per_payment=decided(True, "as with every provider here", Confidence.UNDOCUMENTED),
        read_budget=decided(1, "nothing can be read"),
        read_budget_period_seconds=undocumented(None, _SPEC),
        refund_time_limit_seconds=undocumented(None, _SPEC),
    ),
    amounts=AmountRules(
        unit=documented(AmountUnit.MINOR_INTEGER, _SPEC),
        by_currency=undocumented(MappingProxyType({}), _SPEC, "to be read before an adapter is written"),
        refused_currencies=undocumented(frozenset(), _SPEC, "to be read before an adapter is written"),
    ),
    lookups=_LOOKUPS,
    absence=AbsenceRule(
        possible=documented(False, _SPEC, "the specification has no read of a payment or a refund"),
        needs_untouched_payment=undocumented(False, _SPEC),
        needs_answer_code=undocumented(None, _SPEC),
        needs_no_new_refund=undocumented(False, _SPEC),
        waits_for_in_flight_horizon=decided(True, "as with every provider here"),
        needs_same_account=documented(True, _KEYS),
        unknown_payment_is_an_error=undocumented(False, _SPEC),
    ),
    status_words=StatusRule(
        of_objects=documented(
            MappingProxyType({"received": ProviderStatus.PENDING}), _SPEC, "the only word of an answer"
        ),
        of_events=documented(
            MappingProxyType(
                {
                    "REFUND.true": ProviderStatus.SUCCEEDED,
                    "REFUND.false": ProviderStatus.FAILED,
                    "REFUND_FAILED": ProviderStatus.FAILED,
                    "REFUNDED_REVERSED": ProviderStatus.FAILED,
                }
            ),
            _WEBHOOKS,
            "the event's code and its success are both signed",
        ),
        not_final=documented(frozenset({"received", "REFUND.true"}), _WEBHOOKS),
        late_failure_horizon_seconds=undocumented(None, _WEBHOOKS),
    ),
    webhook=WebhookRule(
        events=documented(frozenset({"REFUND", "REFUND_FAILED", "REFUNDED_REVERSED"}), _WEBHOOKS),
        ordering=undocumented(Ordering.UNKNOWN, _DELIVERY),
        duplicates=documented(True, _DELIVERY),
        retry_horizon_seconds=documented(30 * _DAY, _DELIVERY),
        algorithm=in_library("HMAC-SHA256, base64, key in hex", _LIBRARY),
        signed_parts=in_library(
            "pspReference, originalReference, merchantAccountCode, merchantReference, value, currency, eventCode, "
            "success, joined by colons",
            _LIBRARY,
        ),
        tolerance_seconds=in_library(
            None, _LIBRARY, "nothing signed says when: an old one can be sent again"
        ),
        rotation_seconds=undocumented(None, _DELIVERY, "the earlier key is to be taken for some time"),
        unsigned_fields=in_library(("reason", "eventDate", "additionalData"), _LIBRARY),
    ),
    settlement=SettlementRule(
        report=undocumented(None, _NOT_PROCESSED),
        lag_seconds=undocumented(None, _NOT_PROCESSED),
        operation_column=undocumented(None, _NOT_PROCESSED),
        refund_categories=decided(
            frozenset({"REFUND"}), "the ledger's own spelling", Confidence.UNDOCUMENTED
        ),
    ),
    checks=CheckPlan(
        intervals=decided(
            (timedelta(minutes=15), timedelta(hours=1), timedelta(hours=6), timedelta(days=1)),
            "only events can come: looked at now and then until a person decides",
        ),
    ),
)
