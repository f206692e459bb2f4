"""The demo's shops: 40 orders in which every look-alike of the duplicate rule occurs, and the provider's charges.

``data/ledger.json`` has the documented format (docs/ledger-files.md), except that its times are ages: ``-1d4h`` is
28 hours before the demo begins. The addresses are of example.com, shops and people are invented.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

Row = dict[str, Any]

DATA: Final = Path(__file__).parent / "data" / "ledger.json"
MODEL_FACTS: Final = DATA.with_name("model_facts.json")
_TIMES: Final = frozenset({"placed_at", "created_at", "occurred_at"})
_AGE: Final = re.compile(r"-(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_NEVER_MOVED: Final = frozenset({"FAILED", "CANCELED", "PENDING"})


def build_demo_ledger(now: datetime) -> Row:
    """Return the demo's ledger as a document for ``ledger.loading.loader.load_document``, all of it read ``now``."""
    ledger: Row = _at(json.loads(DATA.read_text(encoding="utf-8")), now)
    return ledger | {"taken_at": now.isoformat()}


def gateway_charges(ledger: Row) -> list[Row]:
    """Return the charges that the provider must know, as the gateway simulator is seeded with them.

    ``id``, ``amount``, ``currency`` (lower case), ``captured``, ``disputed``, ``account`` and
    ``payment_method_fingerprint``. Charges that never went through are not there. The demo's currencies have the
    same minor units at the provider (docs.stripe.com/currencies).
    """
    return [_charge(payment, account, entry) for payment, account, entry in _charges(ledger)]


def gateway_refunds(ledger: Row) -> list[Row]:
    """Return the refunds that the provider made before the demo.

    ``id``, ``charge``, ``account``, ``amount``, ``currency`` and ``status``. A reversed charge is one that was
    refunded; a released hold is not.
    """
    return [
        {
            "id": entry["reference"],
            "charge": payment["reference"],
            "account": account,
            "amount": entry["amount_minor_units"],
            "currency": entry["currency"].lower(),
            "status": entry["status"].lower(),
        }
        for payment, account, charge in _charges(ledger)
        for entry in payment["entries"]
        if charge["kind"] == "CAPTURE" and entry["kind"] in {"REFUND", "REVERSAL"}
    ]


def _charges(ledger: Row) -> Iterator[tuple[Row, str, Row]]:
    accounts = {row["code"]: row.get("gateway_account", "") for row in ledger["merchants"]}
    for order in ledger["orders"]:
        for payment in order["payments"]:
            first = payment["entries"][0]  # the charge itself; what follows is about it
            if first["status"] not in _NEVER_MOVED:
                yield payment, payment.get("account", accounts[order["merchant"]]), first


def _charge(payment: Row, account: str, entry: Row) -> Row:
    return {
        "id": payment["reference"],
        "amount": entry["amount_minor_units"],
        "currency": entry["currency"].lower(),
        "captured": entry["kind"] == "CAPTURE",
        "disputed": any(row["kind"] == "DISPUTE" for row in payment["entries"]),
        "account": account,
        "payment_method_fingerprint": payment.get("method_fingerprint"),
    }


def _at(value: Any, now: datetime) -> Any:
    if isinstance(value, list):
        return [_at(item, now) for item in value]
    if isinstance(value, dict):
        return {
            name: _moment(item, now) if name in _TIMES else _at(item, now) for name, item in value.items()
        }
    return value


def _moment(age: str, now: datetime) -> str:
    parts = _AGE.fullmatch(age)
    if parts is None:
        raise ValueError(f"not an age: {age!r}")
    days, hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    return (now - timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)).isoformat()
