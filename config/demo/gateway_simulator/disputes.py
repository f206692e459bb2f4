"""Disputes (docs.stripe.com/disputes; facts 2.4): an open one closes the charge for refunds."""

from typing import Any

from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.charges import captured_amount, get_charge, refunded_amount
from config.demo.gateway_simulator.events import Events
from config.demo.gateway_simulator.forms import Form, allow_only
from config.demo.gateway_simulator.messages import ApiError, missing, new_id
from config.demo.gateway_simulator.paging import PARAMETERS, page

# docs.stripe.com/api/disputes/object
_INQUIRY = "warning_needs_response"  # a full refund is allowed and resolves it (facts 2.4)
_OPENED = ("needs_response", _INQUIRY)
_CLOSED = ("won", "lost", "warning_closed")


def open_dispute(book: Book, events: Events, value: Row) -> dict[str, Any]:
    """Open a dispute on a charge and tell it; refunds on their way fail (facts 2.2).

    ``value``: charge, and account, amount, reason, status if wanted. Must run inside ``book.transaction()``.
    """
    account, status = str(value.get("account", "")), value.get("status", "needs_response")
    if status not in _OPENED:
        raise ApiError(f"status must be one of {', '.join(_OPENED)}", param="status")
    charge = get_charge(book, account, str(value.get("charge")), param="charge")
    if not book.settings.dispute_after_full_refund and refunded_amount(book, charge) >= captured_amount(
        charge
    ):
        raise ApiError("A fully refunded charge cannot be disputed.", param="charge")
    amount = value.get("amount", charge["amount"])
    if type(amount) is not int or not 0 < amount <= charge["amount"]:
        raise ApiError("amount must be a whole number up to that of the charge", param="amount")
    row: Row = {
        "account": account,
        "id": new_id("dp_1", 23),
        "charge": charge["id"],
        "payment_intent": charge["payment_intent"],
        "amount": amount,
        "currency": charge["currency"],
        "reason": str(value.get("reason", "duplicate")),
        "status": status,
        "created": int(book.now()),
    }
    book.insert("disputes", row)
    if status != _INQUIRY:
        _set_disputed(book, row, disputed=True)
    events.dispute("charge.dispute.created", dispute_object(row), account)
    if status != _INQUIRY:
        events.dispute("charge.dispute.funds_withdrawn", dispute_object(row), account)
        _fail_pending_refunds(book, events, row)
    return dispute_object(row)


def escalate_dispute(book: Book, events: Events, identifier: str) -> dict[str, Any]:
    """Turn an inquiry into a dispute, and tell it: the money is withdrawn, and pending refunds fail."""
    row = _dispute(book, identifier)
    if not row["status"].startswith("warning_") or row["status"] in _CLOSED:
        raise ApiError("Only an open inquiry can be escalated.", param="status")
    _move(book, row, "needs_response")
    _set_disputed(book, row, disputed=True)
    events.dispute("charge.dispute.updated", dispute_object(row), row["account"])
    events.dispute("charge.dispute.funds_withdrawn", dispute_object(row), row["account"])
    _fail_pending_refunds(book, events, row)
    return dispute_object(row)


def resolve_inquiry(book: Book, events: Events, account: str, charge: str) -> None:
    """Close the inquiries of a charge that is refunded in full: that settles them (facts 2.4)."""
    row = get_charge(book, account, charge, param="charge")
    open_ones = book.rows(
        "SELECT id FROM disputes WHERE account = ? AND charge = ? AND status = ?", account, charge, _INQUIRY
    )
    if open_ones and refunded_amount(book, row) >= captured_amount(row):
        for dispute in open_ones:
            close_dispute(book, events, dispute["id"], "warning_closed")


def list_disputes(book: Book, account: str, form: Form) -> dict[str, Any]:
    """Return one page of disputes, newest first (docs.stripe.com/api/disputes/list)."""
    allow_only(form, "charge", "payment_intent", *PARAMETERS)
    rows = book.rows("SELECT * FROM disputes WHERE account = ? ORDER BY number DESC", account)
    wanted = [
        dispute_object(row)
        for row in rows
        if all(form.get(name) in (None, row[name]) for name in ("charge", "payment_intent"))
    ]
    return page(wanted, form, url="/v1/disputes")


def close_dispute(book: Book, events: Events, identifier: str, status: str) -> dict[str, Any]:
    """Close a dispute and tell it; money comes back only when it is won."""
    if status not in _CLOSED:
        raise ApiError(f"status must be one of {', '.join(_CLOSED)}", param="status")
    row = _dispute(book, identifier)
    _move(book, row, status)
    # What was lost stays charged back and can never be refunded; what was won can.
    _set_disputed(book, row, disputed=status == "lost")
    events.dispute("charge.dispute.closed", dispute_object(row), row["account"])
    if status == "won":
        events.dispute("charge.dispute.funds_reinstated", dispute_object(row), row["account"])
    return dispute_object(row)


def dispute_object(row: Row) -> dict[str, Any]:
    """Return the dispute as events show it."""
    shown = ("id", "amount", "charge", "created", "currency", "payment_intent", "reason", "status")
    inquiry = row["status"].startswith("warning_")
    return {name: row[name] for name in shown} | {
        "object": "dispute",
        "is_charge_refundable": inquiry,
        "livemode": False,
        "metadata": {},
    }


def _dispute(book: Book, identifier: str) -> Row:
    row = book.row("SELECT * FROM disputes WHERE id = ?", identifier)
    if row is None:
        raise missing("dispute", identifier, param="id")
    return row


def _move(book: Book, row: Row, status: str) -> None:
    row["status"] = status
    book.execute("UPDATE disputes SET status = ? WHERE id = ?", status, row["id"])


def _set_disputed(book: Book, row: Row, *, disputed: bool) -> None:
    book.execute(
        "UPDATE charges SET disputed = ? WHERE account = ? AND id = ?",
        disputed,
        row["account"],
        row["charge"],
    )


def _fail_pending_refunds(book: Book, events: Events, row: Row) -> None:
    pending = book.rows(
        "SELECT id FROM refunds WHERE account = ? AND charge = ? AND status = 'pending'",
        row["account"],
        row["charge"],
    )
    for refund in pending:
        events.set_refund_status(refund["id"], "failed", "charge_for_pending_refund_disputed")
