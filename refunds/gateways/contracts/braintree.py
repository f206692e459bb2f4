"""Braintree's GraphQL and server libraries: a record without an adapter, held against the verdicts."""

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
from refunds.gateways.port import LIST, RETRIEVE, ProviderStatus

_DOCS: Final = "https://developer.paypal.com/braintree"
_KEYS: Final = f"{_DOCS}/articles/guides/at-most-once"
_GRAPHQL: Final = f"{_DOCS}/graphql/reference/types/refund-transaction-input"
_REFUND: Final = f"{_DOCS}/docs/reference/request/transaction/refund"
_SETTLING: Final = f"{_DOCS}/docs/reference/general/processor-responses/settlement-responses"
_LIBRARY: Final = "https://github.com/braintree/braintree_python"
_HOUR: Final = 3600.0
_DAY: Final = 24 * _HOUR

_LOOKUPS: Final = (
    LookupSurface(
        name=LIST,
        request=documented("the original transaction, with the ids of its refunds", _KEYS),
        filter=documented("the original transaction's id", _KEYS),
        consistency=undocumented(Consistency.UNKNOWN, _KEYS),
        lag_seconds=decided(
            0.0, "read by its id, and only after the in-flight horizon", Confidence.UNDOCUMENTED
        ),
        range_seconds=undocumented(None, _KEYS),
        correlator=in_library("order_id, where the refund was given one", _LIBRARY),
        proves_presence=documented(True, _KEYS),
        proves_absence=documented(True, _KEYS, "after 915234, and without any new refund"),
    ),
    LookupSurface(
        name=RETRIEVE,
        request=in_library("find(id)", _LIBRARY),
        filter=in_library("the refund's own id", _LIBRARY),
        consistency=undocumented(Consistency.UNKNOWN, _REFUND),
        lag_seconds=undocumented(None, _REFUND),
        range_seconds=undocumented(None, _REFUND),
        correlator=in_library("order_id", _LIBRARY),
        proves_presence=in_library(True, _LIBRARY),
        proves_absence=inferred(False, _REFUND, "of no use when the id was never received"),
    ),
    LookupSurface(
        name="search",
        request=in_library("transaction search", _LIBRARY),
        filter=in_library("order_id, created_at, refund", _LIBRARY),
        consistency=undocumented(Consistency.UNKNOWN, _REFUND),
        lag_seconds=undocumented(None, _REFUND),
        range_seconds=undocumented(None, _REFUND),
        correlator=in_library("order_id", _LIBRARY),
        proves_presence=in_library(True, _LIBRARY),
        proves_absence=undocumented(False, _REFUND),
    ),
)

BRAINTREE: Final = ProviderContract(
    provider="braintree",
    pinned_version=in_library(
        "server library 4.48.0", _LIBRARY, "at-most-once is open to some merchants only"
    ),
    review=Review(
        version=decided("2026-11-29", "the day of the review names the record"),
        reviewed_on=decided(date(2026, 11, 29), "every page below was read on this day"),
        valid_seconds=decided(365 * _DAY, "pages change; once a year somebody must read them again"),
    ),
    key=KeyRule(
        transport=documented(KeyTransport.BODY, _KEYS),
        name=documented("apiRequestKey", _KEYS),
        max_length=in_library(255, _LIBRARY),
        characters=decided("printable ASCII", "nothing is stated", Confidence.UNDOCUMENTED),
        scope=inferred(("merchant",), _KEYS, "the page does not say within what a key is unique"),
        required=documented(False, _KEYS),
    ),
    retention=RetentionRule(
        seconds=documented(30 * _DAY, _KEYS),
        meaning=documented(RetentionMeaning.FIXED, _KEYS),
        after_expiry=documented(
            AfterExpiry.UNKNOWN,
            _KEYS,
            f"depends on the processor; {_GRAPHQL} says that the key counts as new",
        ),
    ),
    resend=ResendRule(
        safe_seconds=decided(29 * _DAY, "a day for clocks, queues and a slow call"),
        least_margin_seconds=decided(_HOUR, "no setting may come nearer to the end of a key than this"),
    ),
    replay=ReplayRule(
        result=documented(ReplayResult.LATEST_STATE, _KEYS),
        marker=undocumented(None, _KEYS),
        marker_value=undocumented(None, _KEYS),
    ),
    mismatch=MismatchRule(
        compared=documented(Compared.ALL, _KEYS),
        http=documented(422, _KEYS),
        error_type=undocumented(None, _KEYS),
        code=documented("915232", _KEYS),
        carries_original_id=documented(True, _KEYS),
    ),
    in_flight=InFlightRule(
        http=documented(frozenset({422}), _KEYS),
        code=documented("915233", _KEYS),
        cached=documented(Cached.NOT_CACHED, _KEYS),
        horizon_seconds=decided(0.25 * _HOUR, "no longest execution time is stated", Confidence.UNDOCUMENTED),
    ),
    failures=FailureCaching(
        validation_4xx=undocumented(Cached.UNKNOWN, _KEYS),
        business_4xx=documented(Cached.CACHED, _KEYS, "915234: the key failed and is used up"),
        limiter_429=undocumented(Cached.UNKNOWN, _KEYS),
        server_500=undocumented(Cached.UNKNOWN, _KEYS),
        gateway_5xx=undocumented(Cached.UNKNOWN, _KEYS),
    ),
    server_errors=ServerErrorRule(
        late_effects=decided(frozenset({500}), "not stated, so taken as possible", Confidence.UNDOCUMENTED),
        late_effect_horizon_seconds=undocumented(None, _KEYS),
    ),
    retry_signal=RetrySignal(
        header=undocumented(None, _KEYS),
        retry_value=undocumented(None, _KEYS),
        stop_value=undocumented(None, _KEYS),
        when_absent=in_library(
            WithoutSignal.DO_NOT_RETRY, _LIBRARY, "the library never tries again by itself"
        ),
    ),
    guard=NaturalGuard(
        full_refund=documented(Guard.CAP, _REFUND),
        partial_refund=inferred(Guard.NONE, _REFUND, "a second part of the same amount is accepted"),
        collision_codes=undocumented(frozenset(), _REFUND, "91512 does not say who refunded"),
    ),
    limits=Limits(
        requests_per_second=undocumented(None, _REFUND),
        one_at_a_time_per_payment=decided(True, "as with every provider here", Confidence.UNDOCUMENTED),
        read_budget=decided(100, "nothing is stated; enough for every check of one refund"),
        read_budget_period_seconds=undocumented(None, _REFUND),
        refund_time_limit_seconds=undocumented(None, _REFUND),
    ),
    amounts=AmountRules(
        unit=documented(AmountUnit.DECIMAL_TEXT, _REFUND),
        by_currency=undocumented(MappingProxyType({}), _REFUND, "to be read before an adapter is written"),
        refused_currencies=undocumented(frozenset(), _REFUND, "to be read before an adapter is written"),
    ),
    lookups=_LOOKUPS,
    absence=AbsenceRule(
        possible=documented(True, _KEYS),
        needs_untouched_payment=documented(False, _KEYS, "earlier refunds may be there"),
        needs_answer_code=documented("915234", _KEYS, "the key failed and made nothing"),
        needs_no_new_refund=documented(True, _KEYS),
        waits_for_in_flight_horizon=inferred(True, _KEYS, "915233: a request may run while it is read"),
        needs_same_account=inferred(True, _KEYS, "a key is only known where it was used"),
        unknown_payment_is_an_error=in_library(True, _LIBRARY, "find raises for an id that is not there"),
    ),
    status_words=StatusRule(
        of_objects=documented(
            MappingProxyType(
                {
                    "submitted_for_settlement": ProviderStatus.PENDING,
                    "settling": ProviderStatus.PENDING,
                    "settlement_pending": ProviderStatus.PENDING,
                    "settled": ProviderStatus.SUCCEEDED,
                    "settlement_declined": ProviderStatus.FAILED,
                    "processor_declined": ProviderStatus.FAILED,
                    "failed": ProviderStatus.FAILED,
                    "gateway_rejected": ProviderStatus.FAILED,
                }
            ),
            _SETTLING,
        ),
        of_events=inferred(MappingProxyType({}), _REFUND, "the refund can be fetched, so it is"),
        not_final=documented(
            frozenset({"submitted_for_settlement", "settling", "settlement_pending"}), _SETTLING
        ),
        late_failure_horizon_seconds=undocumented(None, _SETTLING),
    ),
    webhook=WebhookRule(
        events=in_library(
            frozenset({"refund_failed", "transaction_settled", "transaction_settlement_declined"}), _LIBRARY
        ),
        ordering=undocumented(Ordering.UNKNOWN, _REFUND),
        duplicates=undocumented(True, _REFUND, "taken as possible"),
        retry_horizon_seconds=undocumented(None, _REFUND),
        algorithm=in_library("HMAC-SHA1, key is SHA1 of the private key", _LIBRARY),
        signed_parts=in_library("the base64 text of the payload", _LIBRARY),
        tolerance_seconds=in_library(
            None, _LIBRARY, "nothing signed says when: an old one can be sent again"
        ),
        rotation_seconds=undocumented(None, _REFUND),
        unsigned_fields=in_library((), _LIBRARY),
    ),
    settlement=SettlementRule(
        report=undocumented(None, _SETTLING),
        lag_seconds=undocumented(None, _SETTLING),
        operation_column=undocumented(None, _SETTLING),
        refund_categories=decided(
            frozenset({"REFUND"}), "the ledger's own spelling", Confidence.UNDOCUMENTED
        ),
    ),
    checks=CheckPlan(
        intervals=decided(
            (
                timedelta(minutes=1),
                timedelta(minutes=5),
                timedelta(minutes=30),
                timedelta(hours=1),
                timedelta(hours=6),
            ),
            "some eight hours of look-ups before a person decides",
        ),
    ),
)
