"""Refunds: what the API does with them (docs.stripe.com/api/refunds, docs.stripe.com/refunds)."""

from typing import Any

from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.charges import captured_amount, get_charge, refunded_amount
from config.demo.gateway_simulator.forms import Form, allow_only, integer, metadata
from config.demo.gateway_simulator.messages import ApiError
from config.demo.gateway_simulator.refund_objects import (
    STATUSES,
    book_refund,
    get_refund,
    refund_object,
    replace_refund,
)
from config.demo.gateway_simulator.settling import Course, course_of, schedule

__all__ = ["STATUSES"]

# docs.stripe.com/api/refunds/create; "expired_uncaptured_charge" is only ever read.
_REASONS = ("duplicate", "fraudulent", "requested_by_customer")
# docs.stripe.com/currencies: what an amount must be a multiple of.
_MULTIPLE_OF = {"bhd": 10, "jod": 10, "kwd": 10, "omr": 10, "tnd": 10, "isk": 100}


def create_refund(book: Book, account: str, form: Form, *, course: Course | None = None) -> dict[str, Any]:
    """Book one refund and return it; must run inside ``book.transaction()``.

    ``course`` is what becomes of it; without one the way it was paid decides (facts 2.2, 5).
    """
    allow_only(form, "charge", "payment_intent", "amount", "reason")
    param = _payment_parameter(form)
    amount, pairs, reason = integer(form, "amount"), metadata(form), form.get("reason")
    if reason is not None and reason not in _REASONS:
        raise ApiError(f"Invalid reason: must be one of {', '.join(_REASONS)}", param="reason")
    charge = get_charge(book, account, form[param], param=param, executed=True)
    remaining = _remaining(book, charge, param)
    amount = remaining if amount is None else amount
    _check_amount(book, amount, remaining, charge["currency"])
    course = course or course_of(book, charge, amount)
    row = book_refund(
        book,
        charge,
        amount=amount,
        status=course.first,
        reason=reason,
        metadata=pairs,
        pending_reason=course.pending_reason,
        failure_reason=course.failure_reason if course.first in ("failed", "canceled") else None,
        expires_at=int(book.now() + course.seconds) if course.first == "requires_action" else None,
    )
    made = refund_object(row)
    schedule(book, made, course)
    return made


def retrieve_refund(book: Book, account: str, identifier: str, form: Form) -> dict[str, Any]:
    """Return one refund; raises 404 if this account has none of that id."""
    allow_only(form)
    return refund_object(get_refund(book, account, identifier))


def update_refund(book: Book, account: str, identifier: str, form: Form) -> dict[str, Any]:
    """Add metadata, the only thing that can be updated: docs.stripe.com/api/refunds/update."""
    allow_only(form)
    row = get_refund(book, account, identifier)
    row["metadata"] = {key: value for key, value in (row["metadata"] | metadata(form)).items() if value}
    replace_refund(book, row)
    return refund_object(row)


def require_action(book: Book, account: str, identifier: str, form: Form, *, to: str) -> None:
    """Raise ApiError unless the refund waits for its customer: all others keep what they are.

    docs.stripe.com/api/refunds/cancel; the test helper for the end of the waiting alike (facts 2.2, 5).
    """
    allow_only(form)
    status = get_refund(book, account, identifier)["status"]
    if status != "requires_action":
        raise ApiError(f"Refund {identifier} cannot become {to}: its status is {status}.", executed=True)


def _payment_parameter(form: Form) -> str:
    """Return which of the two references a create names; raises ApiError unless it is exactly one."""
    named = [name for name in ("charge", "payment_intent") if form.get(name)]
    if not named:
        raise ApiError(
            "One of the following params should be provided for this request: payment_intent or charge.",
            code="parameter_missing",
        )
    if len(named) > 1:
        raise ApiError("You may only specify one of these parameters.", code="parameters_exclusive")
    return named[0]


def _remaining(book: Book, charge: Row, param: str) -> int:
    """Return what can still be refunded; the refusals are those of docs.stripe.com/error-codes (facts 2.4)."""
    name, settings = charge["id"], book.settings
    if not charge["captured"]:
        # docs.stripe.com/refunds: an uncaptured payment is canceled, not refunded. No code is documented.
        intent = charge["payment_intent"]
        message = f"This PaymentIntent ({intent}) does not have a successful charge to refund."
        at_fault = param if settings.uncaptured_param == "asked" else settings.uncaptured_param
        raise ApiError(message, code=settings.uncaptured_code, param=at_fault, executed=True)
    if charge["disputed"]:
        raise ApiError(
            f"Charge {name} has been charged back; cannot issue a refund.",
            code=settings.disputed_code,
            executed=True,
        )
    limit = settings.refund_age_limit_seconds
    if limit is not None and book.now() - charge["created"] > limit:
        raise ApiError(
            f"Charge {name} can no longer be refunded.", code="charge_not_refundable", executed=True
        )
    remaining = captured_amount(charge) - refunded_amount(book, charge)
    if remaining <= 0:
        raise ApiError(
            f"Charge {name} has already been refunded.", code="charge_already_refunded", executed=True
        )
    return remaining


def _check_amount(book: Book, amount: int, remaining: int, currency: str) -> None:
    if amount > remaining:
        # docs.stripe.com/api/refunds/create raises here; no code is documented.
        raise ApiError(
            f"Refund amount ({amount} {currency}) is greater than unrefunded amount on charge"
            f" ({remaining} {currency})",
            code=book.settings.over_refund_code,
            param="amount",
            executed=True,
        )
    two_decimals = currency == "ugx" and book.settings.ugx_decimals == 2  # noqa: PLR2004 - facts 2.3
    multiple = 100 if two_decimals else _MULTIPLE_OF.get(currency, 1)
    if amount % multiple:
        raise ApiError(
            f"Amounts in {currency} must be a multiple of {multiple}.", param="amount", executed=True
        )
