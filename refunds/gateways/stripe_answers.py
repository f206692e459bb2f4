"""What each of Stripe's answers to a refund submission proves. Pure.

The table is closed: an answer that no row names is UNKNOWN. Rows that say UNKNOWN change nothing; they are
there because the answer is documented and looks like more than it is. Messages are prose and are never read.
To add a row, cite the page that says the request did not execute, and add a test with the recorded answer.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from refunds.gateways.codes import AdapterCode
from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import AnswerClass, GatewayAnswer, ProviderStatus, RefundCommand, RefundFact
from refunds.gateways.stripe_objects import read_json_object, read_refund, word
from refunds.gateways.wire import Exchange

# docs.stripe.com/rate-limits: without one of these the request was not stopped by a limiter (lock_timeout).
RATE_LIMIT_REASONS: Final = frozenset(
    {"global-rate", "global-concurrency", "endpoint-rate", "endpoint-concurrency", "resource-specific"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRule:
    """One row; None in a part means that this part is not looked at."""

    http_status: int
    answer_class: AnswerClass
    source: str
    error_type: str | None = None
    error_codes: frozenset[str] | None = None
    parameters: frozenset[str] | None = None  # and no code
    rate_limited: bool | None = None
    went_back_before: bool = False


_INVALID: Final = "invalid_request_error"

ANSWER_TABLE: Final = (
    # Money of this payment is back, or on its way back: whose refund that is, only a look-up can say.
    AnswerRule(
        http_status=400,
        error_type=_INVALID,
        error_codes=frozenset({"charge_already_refunded", "amount_too_large"}),
        answer_class=AnswerClass.REFUSED,
        went_back_before=True,
        source="docs.stripe.com/error-codes",
    ),
    # The refund endpoint ran and refused: docs.stripe.com/error-codes.
    AnswerRule(
        http_status=400,
        error_type=_INVALID,
        error_codes=frozenset({"charge_disputed", "charge_not_refundable", "refund_disputed_payment"}),
        answer_class=AnswerClass.REFUSED,
        source="docs.stripe.com/error-codes",
    ),
    # Parameter validation; nothing began to execute.
    AnswerRule(
        http_status=400,
        error_type=_INVALID,
        error_codes=frozenset(
            {
                "amount_too_small",
                "parameter_invalid_empty",
                "parameter_invalid_integer",
                "parameter_invalid_string_blank",
                "parameter_invalid_string_empty",
                "parameter_missing",
                "parameter_unknown",
                "parameters_exclusive",
            }
        ),
        answer_class=AnswerClass.REFUSED,
        source="docs.stripe.com/error-low-level",
    ),
    # More than is left: no code, only the parameter at fault.
    AnswerRule(
        http_status=400,
        error_type=_INVALID,
        parameters=frozenset({"amount"}),
        answer_class=AnswerClass.REFUSED,
        went_back_before=True,
        source="docs.stripe.com/api/errors",
    ),
    # A payment without a successful charge, or a parameter that does not fit: no code either.
    AnswerRule(
        http_status=400,
        error_type=_INVALID,
        parameters=frozenset({"charge", "payment_intent", "reason", "metadata"}),
        answer_class=AnswerClass.REFUSED,
        source="docs.stripe.com/api/errors",
    ),
    # The key was used with other parameters: whatever it paid then is not this command.
    AnswerRule(
        http_status=400,
        error_type="idempotency_error",
        answer_class=AnswerClass.UNKNOWN,
        source="docs.stripe.com/api/idempotent_requests",
    ),
    # "The parameters were valid but the request failed."
    AnswerRule(
        http_status=402,
        error_type="card_error",
        answer_class=AnswerClass.REFUSED,
        source="docs.stripe.com/api/errors",
    ),
    # No such payment in this account and mode: one of the two may be wrong, so a look-up comes first.
    AnswerRule(http_status=404, answer_class=AnswerClass.UNKNOWN, source="docs.stripe.com/test-mode"),
    AnswerRule(
        http_status=401, answer_class=AnswerClass.NOT_EXECUTED, source="docs.stripe.com/error-low-level"
    ),
    AnswerRule(http_status=403, answer_class=AnswerClass.NOT_EXECUTED, source="docs.stripe.com/api/errors"),
    # The original under this key is running at this moment.
    AnswerRule(http_status=409, answer_class=AnswerClass.UNKNOWN, source="docs.stripe.com/api/errors"),
    # Something that Stripe depends on failed, at an unknown point.
    AnswerRule(http_status=424, answer_class=AnswerClass.UNKNOWN, source="docs.stripe.com/api/errors"),
    AnswerRule(
        http_status=429,
        rate_limited=True,
        answer_class=AnswerClass.NOT_EXECUTED,
        source="docs.stripe.com/rate-limits",
    ),
    AnswerRule(
        http_status=429,
        rate_limited=False,
        answer_class=AnswerClass.UNKNOWN,
        source="docs.stripe.com/rate-limits",
    ),
    # Its effects may be made or undone later by Stripe, and a replay repeats the 500 for ever.
    AnswerRule(http_status=500, answer_class=AnswerClass.UNKNOWN, source="docs.stripe.com/error-low-level"),
    AnswerRule(http_status=502, answer_class=AnswerClass.UNKNOWN, source="docs.stripe.com/error-low-level"),
    AnswerRule(http_status=503, answer_class=AnswerClass.UNKNOWN, source="docs.stripe.com/error-low-level"),
    AnswerRule(http_status=504, answer_class=AnswerClass.UNKNOWN, source="docs.stripe.com/error-low-level"),
)

_CLASS_BY_STATUS: Final = {
    ProviderStatus.SUCCEEDED: AnswerClass.ACCEPTED,
    ProviderStatus.PENDING: AnswerClass.PENDING,
    ProviderStatus.REQUIRES_ACTION: AnswerClass.PENDING,
    ProviderStatus.FAILED: AnswerClass.FAILED,
    ProviderStatus.CANCELED: AnswerClass.FAILED,
    ProviderStatus.UNRECOGNISED: AnswerClass.UNKNOWN,
}


def read_submission(
    exchange: Exchange, *, command: RefundCommand, contract: ProviderContract
) -> GatewayAnswer:
    """Return what one exchange taught about the command; total over every status, header and body."""
    if exchange.failure is not None:
        never_sent = exchange.failure is AdapterCode.CONNECT_FAILED
        return _answer(
            exchange,
            AnswerClass.NOT_EXECUTED if never_sent else AnswerClass.UNKNOWN,
            contract,
            code=exchange.failure,
            detail=f"{exchange.failure} {exchange.cause}",
        )
    body = read_json_object(exchange.body)
    if body is None:
        return _answer(exchange, AnswerClass.UNKNOWN, contract, code=AdapterCode.BODY_UNPARSABLE)
    if exchange.http_status == HTTPStatus.OK:  # no other status comes with a refund object
        return _read_object(exchange, body, command, contract)
    error = body.get("error")
    if not isinstance(error, Mapping):
        return _answer(exchange, AnswerClass.UNKNOWN, contract, code=AdapterCode.BODY_UNPARSABLE)
    rule = _rule_for(exchange, error)
    return _answer(
        exchange,
        rule.answer_class if rule else AnswerClass.UNKNOWN,
        contract,
        error_type=word(error.get("type")),
        code=word(error.get("code")),
        went_back_before=rule is not None and rule.went_back_before,
    )


def _rule_for(exchange: Exchange, error: Mapping[str, object]) -> AnswerRule | None:
    return next((rule for rule in ANSWER_TABLE if _matches(rule, exchange, error)), None)


def _matches(rule: AnswerRule, exchange: Exchange, error: Mapping[str, object]) -> bool:
    code, parameter = error.get("code"), error.get("param")
    limited = exchange.headers.get("stripe-rate-limited-reason") in RATE_LIMIT_REASONS
    return (
        rule.http_status == exchange.http_status
        and rule.error_type in (None, error.get("type"))
        and (rule.error_codes is None or (isinstance(code, str) and code in rule.error_codes))
        and (
            rule.parameters is None
            or (code is None and isinstance(parameter, str) and parameter in rule.parameters)
        )
        and rule.rate_limited in (None, limited)
    )


def _read_object(
    exchange: Exchange, body: Mapping[str, object], command: RefundCommand, contract: ProviderContract
) -> GatewayAnswer:
    fact = read_refund(body, contract=contract, payment_reference=command.payment_reference)
    differing = _differing(fact, command)
    if fact is None or differing:
        return _answer(
            exchange,
            AnswerClass.UNKNOWN,
            contract,
            code=AdapterCode.OBJECT_NOT_OURS,
            detail=f"{AdapterCode.OBJECT_NOT_OURS} {' '.join(differing) or 'unreadable'}",
        )
    known = fact.status is not ProviderStatus.UNRECOGNISED
    return _answer(
        exchange,
        _CLASS_BY_STATUS[fact.status],
        contract,
        refund=fact,
        code=None if known else AdapterCode.STATUS_UNRECOGNISED,
        detail=f"refund {fact.words}",
    )


def _differing(fact: RefundFact | None, command: RefundCommand) -> list[str]:
    names = ("operation_id", "amount_minor_units", "currency", "payment_reference")
    return [name for name in names if fact is not None and getattr(fact, name) != getattr(command, name)]


def _says(exchange: Exchange, header: str | None, value: str | None) -> bool:
    """Tell whether the answer's header has this value; header names are lower-case here."""
    return header is not None and exchange.headers.get(header.lower(), "").lower() == value


def _answer(
    exchange: Exchange,
    answer_class: AnswerClass,
    contract: ProviderContract,
    *,
    refund: RefundFact | None = None,
    error_type: str | None = None,
    code: str | None = None,
    detail: str = "",
    went_back_before: bool = False,
) -> GatewayAnswer:
    answered = exchange.failure is None
    return GatewayAnswer(
        answer_class=answer_class,
        refund=refund,
        http_status=exchange.http_status,
        error_type=error_type,
        error_code=code,
        replayed=_says(exchange, contract.replay.marker.value, contract.replay.marker_value.value),
        retry_forbidden=_says(
            exchange, contract.retry_signal.header.value, contract.retry_signal.stop_value.value
        ),
        request_id=word(exchange.headers.get("request-id")),
        body_sha256=hashlib.sha256(exchange.body).hexdigest() if answered else None,
        detail=detail or " ".join(str(part) for part in (exchange.http_status, error_type, code) if part),
        went_back_before=went_back_before,
    )
