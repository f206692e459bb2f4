"""The merchant's balance at the provider, and its transactions (docs.stripe.com/refunds; facts 2.2, 2.5)."""

from typing import Any

from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.forms import is_currency
from config.demo.gateway_simulator.messages import ApiError, new_id

_MOST = 10**15


def is_enough(book: Book, charge: Row, amount: int) -> bool:
    """Whether the balance covers a refund; a balance that was never limited covers all."""
    row = book.row(
        "SELECT available FROM balances WHERE account = ? AND currency = ?",
        charge["account"],
        charge["currency"],
    )
    return row is None or int(row["available"]) >= amount


def set_balance(book: Book, value: Row) -> Row:
    """Limit or top up a balance: currency, account, and ``available`` or ``add``; raises ApiError."""
    account, currency = str(value.get("account", "")), str(value.get("currency", "")).lower()
    wrong = set(value) - {"account", "currency", "available", "add"}
    amount = value.get("available", value.get("add"))
    if wrong or not is_currency(currency):
        raise ApiError("A balance has a currency, an account if wanted, and available or add.")
    if type(amount) is not int or abs(amount) > _MOST or ("add" in value and "available" in value):
        raise ApiError("available or add must be a whole number.", param="available")
    known = book.row("SELECT available FROM balances WHERE account = ? AND currency = ?", account, currency)
    available = amount if "available" in value else amount + (known["available"] if known else 0)
    book.execute("INSERT OR REPLACE INTO balances VALUES (?, ?, ?)", account, currency, available)
    return {"account": account, "currency": currency, "available": available}


def balance_object(book: Book, account: str) -> dict[str, Any]:
    """Return the balance as the API shows it (docs.stripe.com/api/balance); only limited ones are listed."""
    rows = book.rows("SELECT * FROM balances WHERE account = ? ORDER BY currency", account)
    available = [{"amount": row["available"], "currency": row["currency"]} for row in rows]
    return {"object": "balance", "available": available, "livemode": False, "pending": []}


def took(book: Book, refund: Row) -> str:
    """Write what a refund took, and return the id (type refund, or payment_refund without a card)."""
    kind = "payment_refund" if refund["charge"].startswith("py_") else "refund"
    return _transaction(book, refund, kind, category="refund", amount=-refund["amount"])


def gave_back(book: Book, refund: Row) -> None:
    """Write that a refund's money came back: refund_failure, or payment_refund without a card."""
    kind = "payment_refund" if refund["charge"].startswith("py_") else "refund_failure"
    identifier = refund["failure_balance_transaction"]
    _transaction(
        book, refund, kind, category="refund_failure", amount=refund["amount"], identifier=identifier
    )


def released_authorisation(book: Book, charge: Row, amount: int) -> None:
    """Write what a partial capture let go; its category says that it is no customer's refund (facts 2.4)."""
    _transaction(book, charge, "refund", category="partial_capture_reversal", amount=-amount)


def transactions(book: Book, account: str, source: str | None) -> list[dict[str, Any]]:
    """Return the transactions of an account, newest first, all or those of one refund or charge."""
    rows = book.rows("SELECT * FROM balance_transactions WHERE account = ? ORDER BY number DESC", account)
    shown = ("id", "amount", "created", "currency", "reporting_category", "source", "type")
    return [
        {name: row[name] for name in shown}
        | {"object": "balance_transaction", "fee": 0, "net": row["amount"], "status": "available"}
        for row in rows
        if source in (None, row["source"])
    ]


def _transaction(
    book: Book, thing: Row, kind: str, *, category: str, amount: int, identifier: str | None = None
) -> str:
    identifier = identifier or new_id("txn_3", 23)
    book.insert(
        "balance_transactions",
        {
            "id": identifier,
            "account": thing["account"],
            "type": kind,
            "reporting_category": category,
            "source": thing["id"],
            "amount": amount,
            "currency": thing["currency"],
            "created": int(book.now()),
        },
    )
    return identifier
