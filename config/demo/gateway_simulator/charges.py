"""Charges: seeded by the control side, read by the API side (docs.stripe.com/api/charges/object)."""

from collections.abc import Mapping
from typing import Any

from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.forms import is_currency
from config.demo.gateway_simulator.messages import missing

_IDENTITY = ("payment_intent", "amount", "currency")
_CHANGEABLE = (
    "captured",
    "captured_amount",
    "disputed",
    "payment_method_fingerprint",
    "payment_method",
    "payment_method_type",
    "settles_at",
    "metadata",
)
_OPTIONAL = {"account", "payment_intent", "created", *_CHANGEABLE}


class SeedError(ValueError):
    """A charge that cannot be seeded; the message is for the one who wrote the seed."""


def seed_charges(book: Book, seeds: list[Any]) -> int:
    """Write all charges or none, and return how many were new.

    Seeding again is free. What identifies a charge must not differ then; whether it is captured or disputed,
    its fingerprint and its metadata may, and change.
    """
    rows = [_seed(seed, int(book.now())) for seed in seeds]
    with book.transaction():
        return sum(_write(book, row) for row in rows)


def get_charge(book: Book, account: str, reference: str, *, param: str, executed: bool = False) -> Row:
    """Return the charge with this id or payment intent; raises 404 if this account has none."""
    column, kind = ("payment_intent", "payment_intent") if param == "payment_intent" else ("id", "charge")
    row = book.row(f"SELECT * FROM charges WHERE account = ? AND {column} = ?", account, reference)  # noqa: S608
    if row is None:
        raise missing(kind, reference, param=param, executed=executed)
    return row


def captured_amount(charge: Row) -> int:
    """Return what was captured; nothing of an authorisation, and not all of a partial capture."""
    if not charge["captured"]:
        return 0
    return int(charge["amount"] if charge["captured_amount"] is None else charge["captured_amount"])


def refunded_amount(book: Book, charge: Row) -> int:
    """Return what is refunded or on its way; failed and canceled refunds count nothing, unless set otherwise.

    docs.stripe.com/refunds: only the remaining, unrefunded amount can be refunded. What a failed refund does to the
    charge's own sum is not documented (facts 13).
    """
    row = book.row(
        "SELECT coalesce(sum(amount), 0) AS total FROM refunds"
        " WHERE account = ? AND charge = ? AND NOT (? AND status IN ('failed', 'canceled'))",
        charge["account"],
        charge["id"],
        book.settings.failed_gives_back,
    )
    return int(row["total"]) if row else 0


def charge_object(book: Book, charge: Row) -> dict[str, Any]:
    """Return the charge as the API shows it.

    It has no ``refunds`` unless asked for: docs.stripe.com/changelog/2022-11-15/deprecates-charges-auto-expand.
    """
    refunded, captured = refunded_amount(book, charge), bool(charge["captured"])
    canceled = charge["canceled_at"] is not None
    kind = charge["payment_method_type"] or "card"
    return {
        "id": charge["id"],
        "object": "charge",
        "amount": charge["amount"],
        "amount_captured": captured_amount(charge),
        "amount_refunded": refunded,
        "captured": captured,
        "created": charge["created"],
        "currency": charge["currency"],
        "disputed": bool(charge["disputed"]),
        "livemode": False,
        "metadata": charge["metadata"],
        "paid": True,
        "payment_intent": charge["payment_intent"],
        "payment_method": charge["payment_method"],
        "payment_method_details": {"type": kind, kind: {"fingerprint": charge["payment_method_fingerprint"]}},
        "refunded": canceled or (captured and refunded >= captured_amount(charge)),
        "status": "succeeded",
    }


def write_charge(book: Book, seed: Mapping[str, Any]) -> Row:
    """Write one new charge from a checked seed, and return its row; raises SeedError."""
    row = _seed(seed, int(book.now()))
    _write(book, row)
    return get_charge(book, row["account"], row["id"], param="charge")


def _seed(seed: Any, now: int) -> Row:
    if not isinstance(seed, Mapping):
        raise SeedError("a charge is a JSON object")
    unknown = set(seed) - {"id", "amount", "currency"} - _OPTIONAL
    if unknown:
        raise SeedError(f"a charge has no {', '.join(sorted(unknown))}")
    identifier, amount, currency = seed.get("id"), seed.get("amount"), seed.get("currency")
    if not isinstance(identifier, str) or not identifier.startswith(("ch_", "py_")) or len(identifier) > 255:  # noqa: PLR2004
        raise SeedError("id must be a text that begins with ch_ or py_")
    if type(amount) is not int or not 0 < amount < 10**12:
        raise SeedError(f"{identifier}: amount must be a positive whole number")
    if not is_currency(currency):
        raise SeedError(f"{identifier}: currency must have three letters")
    row = {
        "account": seed.get("account", ""),
        "id": identifier,
        "payment_intent": seed.get("payment_intent") or f"pi_{identifier[3:]}",
        "amount": amount,
        "currency": currency.lower(),
        "captured": seed.get("captured", True),
        "captured_amount": seed.get("captured_amount"),
        "disputed": seed.get("disputed", False),
        "payment_method_fingerprint": seed.get("payment_method_fingerprint"),
        "payment_method": seed.get("payment_method"),
        "payment_method_type": seed.get("payment_method_type"),
        "settles_at": seed.get("settles_at"),
        "metadata": seed.get("metadata", {}),
        "created": seed.get("created", now),
    }
    _check_types(row)
    captured = row["captured_amount"]
    if captured is not None and not (row["captured"] and 0 < captured <= amount):
        raise SeedError(f"{identifier}: captured_amount must be from 1 to the amount of a captured charge")
    return row


def _check_types(row: Row) -> None:
    expected: dict[str, type | tuple[type, ...]] = {
        "account": str,
        "payment_intent": str,
        "captured": bool,
        "disputed": bool,
        "payment_method_fingerprint": (str, type(None)),
        "payment_method": (str, type(None)),
        "payment_method_type": (str, type(None)),
        "captured_amount": (int, type(None)),
        "settles_at": (int, float, type(None)),
        "metadata": dict,
        "created": int,
    }
    for name, kind in expected.items():
        if not isinstance(row[name], kind):
            raise SeedError(f"{row['id']}: {name} has the wrong type")


def _write(book: Book, row: Row) -> int:
    known = book.row("SELECT * FROM charges WHERE account = ? AND id = ?", row["account"], row["id"])
    if known is None:
        twin = book.row(
            "SELECT id FROM charges WHERE account = ? AND payment_intent = ?",
            row["account"],
            row["payment_intent"],
        )
        if twin is not None:
            raise SeedError(f"{row['id']}: {row['payment_intent']} already belongs to {twin['id']}")
        book.insert("charges", row)
        return 1
    if any(known[name] != row[name] for name in _IDENTITY):
        raise SeedError(f"{row['id']} is already in the book with another amount, currency or payment intent")
    book.execute("DELETE FROM charges WHERE account = ? AND id = ?", row["account"], row["id"])
    book.insert("charges", known | {name: row[name] for name in _CHANGEABLE})
    return 0
