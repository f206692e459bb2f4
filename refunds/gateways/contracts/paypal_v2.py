"""PayPal's Payments API, version 2: a record without an adapter, held against the verdicts."""

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
from refunds.gateways.port import RETRIEVE, ProviderStatus

_SPEC: Final = "https://github.com/paypal/paypal-rest-api-specifications"
_KEYS: Final = "https://developer.paypal.com/api/rest/reference/idempotency"
_WEBHOOKS: Final = "https://developer.paypal.com/api/rest/webhooks/rest"
_AGE: Final = "https://developer.paypal.com/api/nvp-soap/paypal-payments-standard/admin/refunds"
_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR

_LOOKUPS: Final = (
    LookupSurface(
        name=RETRIEVE,
        request=documented("GET /v2/payments/refunds/{id}", _SPEC),
        filter=documented("the refund's own id", _SPEC),
        consistency=undocumented(Consistency.UNKNOWN, _SPEC),
        lag_seconds=undocumented(None, _SPEC),
        range_seconds=undocumented(None, _SPEC),
        correlator=documented("custom_id, invoice_id", _SPEC),
        proves_presence=documented(True, _SPEC),
        proves_absence=inferred(False, _SPEC, "of no use when the id was never received"),
    ),
    LookupSurface(
        name="captures.get",
        request=documented("GET /v2/payments/captures/{id}", _SPEC),
        filter=documented("the capture's own id", _SPEC),
        consistency=undocumented(Consistency.UNKNOWN, _SPEC),
        lag_seconds=decided(
            0.0, "read by its id, and only after the in-flight horizon", Confidence.UNDOCUMENTED
        ),
        range_seconds=undocumented(None, _SPEC),
        correlator=documented("none: the status tells of all refunds together", _SPEC),
        proves_presence=documented(False, _SPEC, "PARTIALLY_REFUNDED does not say whose refund it is"),
        proves_absence=inferred(True, _SPEC, "COMPLETED means that no refund of this capture exists at all"),
    ),
    LookupSurface(
        name="transactions.search",
        request=documented("GET /v1/reporting/transactions", _SPEC),
        filter=documented("a range of time", _SPEC),
        consistency=documented(Consistency.EVENTUAL, _SPEC),
        lag_seconds=documented(3 * _HOUR, _SPEC),
        range_seconds=documented(31 * _DAY, _SPEC),
        correlator=documented("custom_id, invoice_id", _SPEC),
        proves_presence=documented(True, _SPEC),
        proves_absence=inferred(False, _SPEC, "up to three hours behind, and no word on how often more"),
    ),
)

PAYPAL_V2: Final = ProviderContract(
    provider="paypal",
    pinned_version=documented("payments-v2.5", _SPEC),
    review=Review(
        version=decided("2026-11-29", "the day of the review names the record"),
        reviewed_on=decided(date(2026, 11, 29), "every page below was read on this day"),
        valid_seconds=decided(365 * _DAY, "pages change; once a year somebody must read them again"),
    ),
    key=KeyRule(
        transport=documented(KeyTransport.HEADER, _SPEC),
        name=documented("PayPal-Request-Id", _SPEC),
        max_length=undocumented(None, _SPEC, "108 on orders; none is stated for refunds"),
        characters=decided("printable ASCII", "what every header can carry", Confidence.UNDOCUMENTED),
        scope=documented(("api",), _KEYS, "whether a merchant has keys of its own is not stated"),
        required=documented(False, _KEYS, "without one PayPal makes a second refund"),
    ),
    retention=RetentionRule(
        seconds=documented(45 * _DAY, _SPEC, "of refunds; other calls keep keys for other times"),
        meaning=inferred(RetentionMeaning.FIXED, _SPEC, "the page only says: stored for 45 days"),
        after_expiry=inferred(
            AfterExpiry.EXECUTES_AGAIN, _KEYS, "the page only says that the id is forgotten"
        ),
    ),
    resend=ResendRule(
        safe_seconds=decided(44 * _DAY, "a day for clocks, queues and a slow call"),
        least_margin_seconds=decided(_HOUR, "no setting may come nearer to the end of a key than this"),
    ),
    replay=ReplayRule(
        result=documented(ReplayResult.LATEST_STATE, _KEYS),
        marker=undocumented(None, _KEYS),
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
        http=documented(frozenset({409}), _SPEC),
        code=documented(
            "PREVIOUS_REQUEST_IN_PROGRESS", _SPEC, "of the same resource: perhaps another refund's"
        ),
        cached=undocumented(Cached.UNKNOWN, _KEYS),
        horizon_seconds=decided(0.25 * _HOUR, "no longest execution time is stated", Confidence.UNDOCUMENTED),
    ),
    failures=FailureCaching(
        validation_4xx=undocumented(Cached.UNKNOWN, _KEYS),
        business_4xx=undocumented(Cached.UNKNOWN, _KEYS),
        limiter_429=undocumented(Cached.UNKNOWN, _KEYS),
        server_500=documented(Cached.NOT_CACHED, _KEYS, "may be tried again as long as the id is stored"),
        gateway_5xx=documented(Cached.NOT_CACHED, _KEYS, "may be tried again as long as the id is stored"),
    ),
    server_errors=ServerErrorRule(
        late_effects=decided(frozenset({500}), "not stated, so taken as possible", Confidence.UNDOCUMENTED),
        late_effect_horizon_seconds=undocumented(None, _KEYS),
    ),
    retry_signal=RetrySignal(
        header=undocumented(None, _KEYS),
        retry_value=undocumented(None, _KEYS),
        stop_value=undocumented(None, _KEYS),
        when_absent=inferred(WithoutSignal.DECIDE_BY_STATUS, _KEYS, "there is no such header"),
    ),
    guard=NaturalGuard(
        full_refund=documented(Guard.CAP, _SPEC),
        partial_refund=documented(
            Guard.INVOICE_ID, _SPEC, "where every refund carries an invoice_id of its own"
        ),
        collision_codes=documented(frozenset({"DUPLICATE_INVOICE_ID"}), _SPEC),
    ),
    limits=Limits(
        requests_per_second=undocumented(None, _SPEC),
        one_at_a_time_per_payment=inferred(True, _SPEC, "a second request on a resource may be refused"),
        read_budget=decided(100, "nothing is stated; enough for every check of one refund"),
        read_budget_period_seconds=undocumented(None, _SPEC),
        refund_time_limit_seconds=documented(
            180 * _DAY, _AGE, "the default; later REFUND_TIME_LIMIT_EXCEEDED"
        ),
    ),
    amounts=AmountRules(
        unit=documented(AmountUnit.DECIMAL_TEXT, _SPEC),
        by_currency=undocumented(MappingProxyType({}), _SPEC, "to be read before an adapter is written"),
        refused_currencies=undocumented(frozenset(), _SPEC, "to be read before an adapter is written"),
    ),
    lookups=_LOOKUPS,
    absence=AbsenceRule(
        possible=inferred(True, _SPEC, "only for a capture that was never refunded in any part"),
        needs_untouched_payment=inferred(True, _SPEC, "refunds of one capture cannot be listed"),
        needs_answer_code=undocumented(None, _SPEC),
        needs_no_new_refund=inferred(
            True, _SPEC, "an untouched capture has none, so a new one contradicts it"
        ),
        waits_for_in_flight_horizon=inferred(True, _SPEC, "409: a request may run while the capture is read"),
        needs_same_account=documented(True, _SPEC, "the merchant is named by a header"),
        unknown_payment_is_an_error=documented(True, _SPEC, "404 for a capture of another account or mode"),
    ),
    status_words=StatusRule(
        of_objects=documented(
            MappingProxyType(
                {
                    "COMPLETED": ProviderStatus.SUCCEEDED,
                    "PENDING": ProviderStatus.PENDING,
                    "FAILED": ProviderStatus.FAILED,
                    "CANCELLED": ProviderStatus.CANCELED,
                }
            ),
            _SPEC,
        ),
        of_events=inferred(MappingProxyType({}), _WEBHOOKS, "the refund can be fetched, so it is"),
        not_final=documented(frozenset({"PENDING"}), _SPEC),
        late_failure_horizon_seconds=undocumented(None, _SPEC),
    ),
    webhook=WebhookRule(
        events=documented(frozenset({"PAYMENT.CAPTURE.REFUNDED"}), _SPEC),
        ordering=undocumented(Ordering.UNKNOWN, _WEBHOOKS),
        duplicates=documented(True, _WEBHOOKS),
        retry_horizon_seconds=documented(3 * _DAY, _WEBHOOKS, "up to 25 times"),
        algorithm=documented("RSA with a certificate, in five headers", _SPEC),
        signed_parts=documented("transmission id, time, webhook id, checksum of the body", _WEBHOOKS),
        tolerance_seconds=undocumented(None, _WEBHOOKS),
        rotation_seconds=undocumented(None, _WEBHOOKS),
        unsigned_fields=documented((), _WEBHOOKS),
    ),
    settlement=SettlementRule(
        report=documented("settlement report", _SPEC),
        lag_seconds=undocumented(None, _SPEC),
        operation_column=documented("custom_id", _SPEC),
        refund_categories=decided(frozenset({"REFUND"}), "the ledger's own spelling"),
    ),
    checks=CheckPlan(
        intervals=decided(
            (
                timedelta(minutes=1),
                timedelta(minutes=5),
                timedelta(minutes=30),
                timedelta(hours=1),
                timedelta(hours=3),
                timedelta(hours=6),
            ),
            "beyond the three hours that the search may be behind",
        ),
    ),
)
