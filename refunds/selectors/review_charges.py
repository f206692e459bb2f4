"""The charges of one order side by side, from the snapshot that a finding was made on. Pure.

Amounts are minor units; a snapshot is ``LedgerSnapshot.as_json()`` as the workflow stores it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ledger.money import UnknownCurrencyError, format_minor_units
from ledger.snapshot import EntryKind, EntryStatus

SAME: Final = "same"
DIFFERS: Final = "differs"
NOT_COMPARED: Final = "-"
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_GONE: Final = frozenset({EntryStatus.FAILED, EntryStatus.CANCELED})


@dataclass(frozen=True, slots=True)
class ChargeColumn:
    """One charge: its letter, the provider's reference, and what the finding wants with it."""

    label: str
    reference: str
    is_target: bool
    is_kept: bool


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One attribute of every charge, and whether they agree."""

    name: str
    values: tuple[str, ...]
    comparison: str


@dataclass(frozen=True, slots=True)
class ChargeComparison:
    """The charges of an order as one table."""

    columns: tuple[ChargeColumn, ...]
    rows: tuple[ComparedRow, ...]


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One ledger row as it is now, to be held against the snapshot."""

    payment_reference: str
    reference: str
    kind: str
    status: str
    amount_minor_units: int
    currency: str


def money_text(amount_minor_units: int, currency: str) -> str:
    """Return an amount as people read it; a currency nobody knows leaves the minor units as they are."""
    try:
        return format_minor_units(amount_minor_units, currency)
    except UnknownCurrencyError:
        return f"{amount_minor_units} minor units of {currency or 'an unnamed currency'}"


def compare_charges(
    snapshot: dict[str, Any], *, kept_payment_id: int | None, target_payment_id: int | None
) -> ChargeComparison:
    """Return the snapshot's charges side by side: the one that stays first, then the target, then by time."""
    order = snapshot["order"]
    rank = {kept_payment_id: 0, target_payment_id: 1}
    payments = sorted(
        order["payments"],
        key=lambda p: (rank.get(p["payment_id"], 2), p["created_at"], p["processor_reference"]),
    )
    return ChargeComparison(
        columns=tuple(
            ChargeColumn(
                label=f"Charge {_LETTERS[index] if index < len(_LETTERS) else index + 1}",
                reference=payment["processor_reference"],
                is_target=payment["payment_id"] == target_payment_id,
                is_kept=payment["payment_id"] == kept_payment_id,
            )
            for index, payment in enumerate(payments)
        ),
        rows=tuple(_row(name, read, payments) for name, read in _ATTRIBUTES),
    )


def changes_since(
    snapshot: dict[str, Any], rows_now: Iterable[LedgerRow], *, own_refunds: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """Return one line per ledger row that is new, different or gone since the snapshot was taken.

    ``own_refunds`` are the provider's references of the request's own refunds: that they appear is its outcome,
    and no change of the evidence that it was decided on.
    """
    then = {
        (row.payment_reference, row.reference, row.kind): row
        for payment in snapshot["order"]["payments"]
        for row in _rows_of(payment)
    }
    now = {(row.payment_reference, row.reference, row.kind): row for row in rows_now}
    lines = []
    for key in sorted(then.keys() | now.keys()):
        before, after = then.get(key), now.get(key)
        if before is None and after is not None:
            if after.kind == EntryKind.REFUND and after.reference in own_refunds:
                continue
            lines.append(f"New: {_described(after)}")
        elif after is None and before is not None:
            lines.append(f"No longer there: {_described(before)}")
        elif before != after and before is not None and after is not None:
            lines.append(f"Was {before.status}: {_described(after)}")
    return tuple(lines)


def _row(name: str, read: Callable[[dict[str, Any]], str], payments: list[dict[str, Any]]) -> ComparedRow:
    values = tuple(read(payment) for payment in payments)
    if name == "Charged at" and len(payments) == 2:  # noqa: PLR2004 - a time between exactly two
        first, second = (datetime.fromisoformat(_main_entry(p)["occurred_at"]) for p in payments)
        return ComparedRow(name, values, f"{abs(int((second - first).total_seconds()))} s apart")
    if len(payments) < 2 or all(value in {"", NOT_COMPARED} for value in values):  # noqa: PLR2004
        return ComparedRow(name, values, NOT_COMPARED)
    return ComparedRow(name, values, SAME if len(set(values)) == 1 else DIFFERS)


def _main_entry(payment: dict[str, Any]) -> dict[str, Any]:
    """Return the capture, else the hold, else a stand-in for a payment without rows."""
    by_kind = {entry["kind"]: entry for entry in reversed(payment["entries"])}
    found: dict[str, Any] = (
        by_kind.get(EntryKind.CAPTURE)
        or by_kind.get(EntryKind.AUTHORISATION)
        or {
            "kind": "NO ROWS",
            "status": "",
            "amount_minor_units": 0,
            "currency": "",
            "occurred_at": payment["created_at"],
        }
    )
    return found


def _status(payment: dict[str, Any]) -> str:
    entry = _main_entry(payment)
    kind = {EntryKind.CAPTURE: "captured", EntryKind.AUTHORISATION: "hold only, not captured"}.get(
        entry["kind"], str(entry["kind"]).lower()
    )
    settled = entry["status"] == EntryStatus.SUCCEEDED
    return kind if settled else f"{kind}: {str(entry['status']).lower() or 'unknown'}"


def _amount(payment: dict[str, Any]) -> str:
    entry = _main_entry(payment)
    if not entry["currency"]:
        return NOT_COMPARED
    amount = int(entry["amount_minor_units"])
    return f"{money_text(amount, entry['currency'])} ({amount} {entry['currency']} minor units)"


def _charged_at(payment: dict[str, Any]) -> str:
    at = datetime.fromisoformat(_main_entry(payment)["occurred_at"])
    return f"{at:%d %b %Y, %H:%M:%S} UTC"


def _method(payment: dict[str, Any]) -> str:
    last4 = payment["method_last4"]
    return f"{payment['method_type']} ending {last4}" if last4 else payment["method_type"] or NOT_COMPARED


def _fingerprint(payment: dict[str, Any]) -> str:
    return payment["method_fingerprint"] or NOT_COMPARED


def _account(payment: dict[str, Any]) -> str:
    return payment["account"] or "the platform's own"


def _returned(payment: dict[str, Any]) -> str:
    return _listed(payment, {EntryKind.REFUND, EntryKind.REVERSAL})


def _disputed(payment: dict[str, Any]) -> str:
    return _listed(payment, {EntryKind.DISPUTE})


def _listed(payment: dict[str, Any], kinds: set[EntryKind]) -> str:
    found = [row for row in _rows_of(payment) if row.kind in kinds and row.status not in _GONE]
    return "; ".join(_described(row) for row in found) or "none"


def _seen(payment: dict[str, Any]) -> str:
    return str(_main_entry(payment).get("seen_count", 0))


_ATTRIBUTES: Final[tuple[tuple[str, Callable[[dict[str, Any]], str]], ...]] = (
    ("Status", _status),
    ("Amount", _amount),
    ("Charged at", _charged_at),
    ("Paid with", _method),
    ("Method fingerprint", _fingerprint),
    ("Provider account", _account),
    ("Refunded or reversed", _returned),
    ("Disputes", _disputed),
    ("Times listed by the source", _seen),
)


def _rows_of(payment: dict[str, Any]) -> list[LedgerRow]:
    return [
        LedgerRow(
            payment_reference=payment["processor_reference"],
            reference=entry["processor_reference"],
            kind=entry["kind"],
            status=entry["status"],
            amount_minor_units=int(entry["amount_minor_units"]),
            currency=entry["currency"],
        )
        for entry in payment["entries"]
    ]


def _described(row: LedgerRow) -> str:
    money = money_text(row.amount_minor_units, row.currency)
    return f"{row.kind} {row.reference} of {money}, {row.status}"
