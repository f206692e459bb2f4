"""Refunds: what the API does with them (docs.stripe.com/api/refunds, docs.stripe.com/refunds)."""

import time
from typing import Any

from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.charges import get_charge, refunded_amount
from config.demo.gateway_simulator.forms import Form, allow_only, integer, metadata
from config.demo.gateway_simulator.messages import ApiError, missing, new_id
from config.demo.gateway_simulator.settling import BY_PAYMENT_METHOD, Course, schedule

# docs.stripe.com/api/refunds/create; "expired_uncaptured_charge" is only ever read.
_REASONS = ("duplicate", "fraudulent", "requested_by_customer")
# docs.stripe.com/api/refunds/object
STATUSES = ("pending", "requires_action", "succeeded", "failed", "canceled")
# What set_status says when it is not told (docs.stripe.com/api/refunds/object, failure_reason).
_FAILURE_REASONS = {"failed": "unknown", "canceled": "merchant_request"}
# docs.stripe.com/currencies: what an amount must be a multiple of.
_MULTIPLE_OF = {"bhd": 10, "jod": 10, "kwd": 10, "omr": 10, "tnd": 10, "isk": 100}
_MAX_PAGE = 100  # docs.stripe.com/api/pagination


def payment_parameter(form: Form) -> str:
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


def create_refund(book: Book, account: str, form: Form, *, course: Course | None = None) -> dict[str, Any]:
    """Book one refund and return it; must run inside ``book.transaction()``.

    ``course`` is what becomes of it; without one the card that paid decides (facts 5).
    """
    allow_only(form, "charge", "payment_intent", "amount", "reason")
    param = payment_parameter(form)
    amount, pairs, reason = integer(form, "amount"), metadata(form), form.get("reason")
    if reason is not None and reason not in _REASONS:
        raise ApiError(f"Invalid reason: must be one of {', '.join(_REASONS)}", param="reason")
    charge = get_charge(book, account, form[param], param=param, executed=True)
    remaining = _remaining(book, charge, param)
    amount = remaining if amount is None else amount
    _check_amount(amount, remaining, charge["currency"])
    course = course or BY_PAYMENT_METHOD.get(charge["payment_method"], Course())
    row = book_refund(book, charge, amount=amount, status=course.first, reason=reason, metadata=pairs)
    made = refund_object(row)
    schedule(book, made, course)
    return made


def book_refund(book: Book, charge: Row, *, amount: int, status: str, **more: Any) -> Row:
    """Write one refund of a charge as it is told, unchecked, and return its row."""
    failed = status in ("failed", "canceled")
    row: Row = {
        "account": charge["account"],
        "id": new_id("re_3", 23),
        "charge": charge["id"],
        "payment_intent": charge["payment_intent"],
        "amount": amount,
        "currency": charge["currency"],
        "reason": None,
        "status": status,
        "failure_reason": None,
        "failure_balance_transaction": new_id("txn_3", 23) if failed else None,
        "metadata": {},
        "balance_transaction": new_id("txn_3", 23),
        "created": int(time.time()),
        **more,
    }
    book.insert("refunds", row)
    return row


def retrieve_refund(book: Book, account: str, identifier: str, form: Form) -> dict[str, Any]:
    """Return one refund; raises 404 if this account has none of that id."""
    allow_only(form)
    return refund_object(get_refund(book, account, identifier))


def update_refund(book: Book, account: str, identifier: str, form: Form) -> dict[str, Any]:
    """Add metadata, the only thing that can be updated: docs.stripe.com/api/refunds/update."""
    allow_only(form)
    row = get_refund(book, account, identifier)
    row["metadata"] = {key: value for key, value in (row["metadata"] | metadata(form)).items() if value}
    _replace(book, row)
    return refund_object(row)


def list_refunds(book: Book, account: str, form: Form) -> dict[str, Any]:
    """Return one page, newest first; what is booked is listed at once.

    docs.stripe.com/api-v2-overview: top-level v1 lists are immediately consistent. An unknown charge is an
    error, not an empty list: docs.stripe.com/api/refunds/list.
    """
    allow_only(form, "charge", "payment_intent", "limit", "starting_after")
    limit = integer(form, "limit", most=_MAX_PAGE) or 10
    where = "account = ?"
    values: list[str | int] = [account]
    for param in ("charge", "payment_intent"):
        if param in form:
            get_charge(book, account, form[param], param=param)
            where, values = f"{where} AND {param} = ?", [*values, form[param]]
    if "starting_after" in form:
        after = book.row(
            "SELECT number, created FROM refunds WHERE account = ? AND id = ?",
            account,
            form["starting_after"],
        )
        if after is None:
            raise missing("refund", form["starting_after"], param="starting_after")
        where = f"{where} AND (created, number) < (?, ?)"
        values = [*values, after["created"], after["number"]]
    rows = book.rows(
        f"SELECT * FROM refunds WHERE {where} ORDER BY created DESC, number DESC LIMIT ?",  # noqa: S608 - literals above
        *values,
        limit + 1,
    )
    return {
        "object": "list",
        "url": "/v1/refunds",
        "has_more": len(rows) > limit,
        "data": [refund_object(row) for row in rows[:limit]],
    }


def set_status(
    book: Book, identifier: str, status: str, failure_reason: str | None
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Let time pass for one refund; return it before and after, and its account.

    Failed and canceled ones have a failure reason and a failure balance transaction (facts 2.2).
    """
    row = book.row("SELECT * FROM refunds WHERE id = ?", identifier)
    if row is None:
        raise missing("refund", identifier, param="id")
    before = refund_object(row)
    failed = status in ("failed", "canceled")
    row |= {
        "status": status,
        "failure_reason": failure_reason or _FAILURE_REASONS.get(status),
        "failure_balance_transaction": new_id("txn_3", 23) if failed else None,
    }
    _replace(book, row)
    return before, refund_object(row), str(row["account"])


def refund_object(row: Row) -> dict[str, Any]:
    """Return the refund as the API shows it."""
    shown: dict[str, Any] = {
        "id": row["id"],
        "object": "refund",
        "amount": row["amount"],
        "balance_transaction": row["balance_transaction"],
        "charge": row["charge"],
        "created": row["created"],
        "currency": row["currency"],
        "destination_details": {"type": "card", "card": {"type": "refund", "reference_status": "pending"}},
        "metadata": row["metadata"],
        "payment_intent": row["payment_intent"],
        "reason": row["reason"],
        "receipt_number": None,
        "source_transfer_reversal": None,
        "status": row["status"],
        "transfer_reversal": None,
    }
    if row["status"] == "pending":
        shown["pending_reason"] = "processing"  # docs.stripe.com/changelog/basil/2025-04-30
    if row["failure_reason"]:
        shown["failure_reason"] = row["failure_reason"]
    if row["failure_balance_transaction"]:
        shown["failure_balance_transaction"] = row["failure_balance_transaction"]
    return shown


def get_refund(book: Book, account: str, identifier: str) -> Row:
    """Return the row of one refund; raises 404 if this account has none of that id."""
    row = book.row("SELECT * FROM refunds WHERE account = ? AND id = ?", account, identifier)
    if row is None:
        raise missing("refund", identifier, param="id")
    return row


def _replace(book: Book, row: Row) -> None:
    with book.transaction():
        book.execute("DELETE FROM refunds WHERE id = ?", row["id"])
        book.insert("refunds", row)


def _remaining(book: Book, charge: Row, param: str) -> int:
    """Return what can still be refunded; the refusals are those of docs.stripe.com/error-codes."""
    name = charge["id"]
    if not charge["captured"]:
        # docs.stripe.com/refunds: an uncaptured payment is canceled, not refunded. No code is documented.
        intent = charge["payment_intent"]
        message = f"This PaymentIntent ({intent}) does not have a successful charge to refund."
        raise ApiError(message, param=param, executed=True)
    if charge["disputed"]:
        raise ApiError(
            f"Charge {name} has been charged back; cannot issue a refund.",
            code="charge_disputed",
            executed=True,
        )
    remaining = int(charge["amount"]) - refunded_amount(book, charge)
    if remaining <= 0:
        raise ApiError(
            f"Charge {name} has already been refunded.", code="charge_already_refunded", executed=True
        )
    return remaining


def _check_amount(amount: int, remaining: int, currency: str) -> None:
    if amount > remaining:
        # docs.stripe.com/api/refunds/create raises here; no code is documented.
        raise ApiError(
            f"Refund amount ({amount} {currency}) is greater than unrefunded amount on charge"
            f" ({remaining} {currency})",
            param="amount",
            executed=True,
        )
    if amount % _MULTIPLE_OF.get(currency, 1):
        multiple = _MULTIPLE_OF[currency]
        raise ApiError(
            f"Amounts in {currency} must be a multiple of {multiple}.", param="amount", executed=True
        )
