"""Refund objects as the API shows them, and every form they had: a surface that is behind shows an older one."""

from collections.abc import Iterator
from typing import Any

from config.demo.gateway_simulator.balance import gave_back, took
from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.messages import missing, new_id

# docs.stripe.com/api/refunds/object
STATUSES = ("pending", "requires_action", "succeeded", "failed", "canceled")
NO_MONEY = ("failed", "canceled")
# What set_status says when it is not told (docs.stripe.com/api/refunds/object, failure_reason).
_FAILURE_REASONS = {"failed": "unknown", "canceled": "merchant_request"}


def get_refund(book: Book, account: str, identifier: str) -> Row:
    """Return the row of one refund; raises 404 if this account has none of that id."""
    row = book.row("SELECT * FROM refunds WHERE account = ? AND id = ?", account, identifier)
    if row is None:
        raise missing("refund", identifier, param="id")
    return row


def book_refund(book: Book, charge: Row, *, amount: int, status: str, **more: Any) -> Row:
    """Write one refund of a charge as it is told, unchecked, and return its row."""
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
        "failure_balance_transaction": None,
        "pending_reason": None,
        "expires_at": None,
        "from_balance": None,
        "metadata": {},
        "balance_transaction": "",
        "created": int(book.now()),
        **more,
    }
    if status in NO_MONEY:
        row["failure_balance_transaction"] = new_id("txn_3", 23)
    _keep_accounts(book, row, was=None)
    book.insert("refunds", row)
    _remember(book, row)
    return row


def replace_refund(book: Book, row: Row) -> None:
    """Write a changed refund in the place of the old one; must run inside ``book.transaction()``."""
    with book.transaction():
        book.execute("DELETE FROM refunds WHERE id = ?", row["id"])
        book.insert("refunds", row)
        _remember(book, row)


def set_status(
    book: Book, identifier: str, status: str, failure_reason: str | None
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Let time pass for one refund; return it before and after, and its account.

    Failed and canceled ones have a failure reason and a failure balance transaction (facts 2.2).
    """
    row = book.row("SELECT * FROM refunds WHERE id = ?", identifier)
    if row is None:
        raise missing("refund", identifier, param="id")
    before, was = refund_object(row), row["status"]
    row |= {
        "status": status,
        "failure_reason": failure_reason or _FAILURE_REASONS.get(status),
        "failure_balance_transaction": new_id("txn_3", 23) if status in NO_MONEY else None,
        "pending_reason": None,
    }
    _keep_accounts(book, row, was=was)
    replace_refund(book, row)
    return before, refund_object(row), str(row["account"])


def refund_object(row: Row) -> dict[str, Any]:
    """Return the refund as the API shows it (docs.stripe.com/api/refunds/object; facts 2.1)."""
    shown: dict[str, Any] = {
        "id": row["id"],
        "object": "refund",
        "amount": row["amount"],
        "balance_transaction": row["balance_transaction"] or None,
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
        # docs.stripe.com/changelog/basil/2025-04-30: processing, insufficient_funds, charge_pending
        shown["pending_reason"] = row["pending_reason"] or "processing"
    if row["status"] == "requires_action" and row["expires_at"]:
        email = {"email_sent_at": row["created"], "email_sent_to": "customer@example.com"}
        details = {"email_sent": email, "expires_at": row["expires_at"]}
        shown["next_action"] = {"type": "display_details", "display_details": details}
    if row["failure_reason"]:
        shown["failure_reason"] = row["failure_reason"]
    if row["failure_balance_transaction"]:
        shown["failure_balance_transaction"] = row["failure_balance_transaction"]
    return shown


def shown_before(book: Book, account: str, charge: str, *, lag_seconds: float) -> Iterator[dict[str, Any]]:
    """Yield the refunds of a charge, newest first, as a surface shows them that is so far behind (facts 3)."""
    rows = book.rows(
        "SELECT refund, shown FROM refund_history WHERE account = ? AND charge = ? AND at <= ? ORDER BY number",
        account,
        charge,
        book.now() - lag_seconds,
    )
    latest = {row["refund"]: row["shown"] for row in rows}
    newest_first = list(latest.values())[::-1]
    yield from sorted(newest_first, key=lambda one: -int(one["created"]))


def _keep_accounts(book: Book, row: Row, *, was: str | None) -> None:
    """Book what the change of status means for balance and balance transactions (facts 2.5)."""
    status = row["status"]
    pays = status == "succeeded" or (status == "pending" and book.settings.pending_has_balance_transaction)
    if pays and not row["balance_transaction"]:
        row["balance_transaction"] = took(book, row)
    if status == "succeeded" and was != "succeeded":
        row["from_balance"] = row["amount"]
        _move_balance(book, row, -row["amount"])
    if status in NO_MONEY:
        if row["balance_transaction"]:
            gave_back(book, row)
        if was == "succeeded" and row["from_balance"]:
            _move_balance(book, row, row["from_balance"])


def _move_balance(book: Book, row: Row, amount: int) -> None:
    book.execute(
        "UPDATE balances SET available = available + ? WHERE account = ? AND currency = ?",
        amount,
        row["account"],
        row["currency"],
    )


def _remember(book: Book, row: Row) -> None:
    book.insert(
        "refund_history",
        {
            "refund": row["id"],
            "account": row["account"],
            "charge": row["charge"],
            "at": book.now(),
            "shown": refund_object(row),
        },
    )
