"""Refunds that an export counted without naming them, and how many of them a complete list explains.

An export says that so much of a payment had been refunded by then. A refund that becomes known by itself explains
nothing of that: it may have been made later. Only the provider's whole list says which refunds there are, and then
the payment lost the larger of the two totals. What the list does not explain stays counted.
"""

import re
from collections.abc import Iterable
from typing import Final

from django.db import models

from ledger.models import LedgerEntry, Payment
from ledger.snapshot import UNNAMED_REFUND, EntryKind, EntryStatus
from refunds.gateways.port import LIST, LookupAnswer

COUNTED: Final = (EntryStatus.SUCCEEDED, EntryStatus.PENDING)
_TOTAL: Final = re.compile(rf"{UNNAMED_REFUND}([0-9]{{1,18}})(?:$|:)")


def unnamed_left(*, unnamed: int, total: int | None, listed: int) -> int:
    """Return what stays counted without a name, in minor units: never more than was, and never too little.

    ``total`` is the largest total that an export gave, None where a row does not say; ``listed`` is the sum of the
    refunds in a complete list. Whichever was read first, their larger one has gone.
    """
    return unnamed if total is None else min(unnamed, max(0, total - listed))


def is_whole_list(lookups: Iterable[LookupAnswer]) -> bool:
    """Tell whether one of the reads is the payment's complete list of refunds."""
    return any(lookup.surface == LIST and lookup.complete for lookup in lookups)


def explain_unnamed(payment: Payment, *, listed: Iterable[str], reserved: dict[str, int]) -> None:
    """Count each refund of a complete list once; the caller holds the payment's lock and has adopted what is foreign.

    ``listed`` are the references in the list that moved money or may have. ``reserved`` are those of our operations
    that hold their amount back until they are booked, with that amount.
    """
    counted = list(
        LedgerEntry.objects.filter(payment=payment, kind=EntryKind.REFUND, status__in=COUNTED).order_by("pk")
    )
    unnamed = [entry for entry in counted if UNNAMED_REFUND in entry.processor_reference]
    if not unnamed:
        return
    amounts = reserved | {entry.processor_reference: entry.amount_minor_units for entry in counted}
    before = sum(entry.amount_minor_units for entry in unnamed)
    total = _total_of(unnamed)
    left = unnamed_left(
        unnamed=before, total=total, listed=sum(amounts.get(reference, 0) for reference in set(listed))
    )
    if left < before:
        _replace(payment, unnamed, f"{UNNAMED_REFUND}{total}:left:{left}", left)


def _total_of(unnamed: list[LedgerEntry]) -> int | None:
    found = [_TOTAL.search(entry.processor_reference) for entry in unnamed]
    return max(int(match[1]) for match in found if match) if all(found) else None


def _replace(payment: Payment, unnamed: list[LedgerEntry], name: str, left: int) -> None:
    """Let one row stand for what is left; an entry's amount never changes."""
    rows: models.QuerySet[LedgerEntry] = LedgerEntry.objects.filter(pk__in=[entry.pk for entry in unnamed])
    rows.update(status=EntryStatus.CANCELED)
    if left:
        newest = unnamed[-1]
        LedgerEntry.objects.update_or_create(
            merchant_id=payment.merchant_id,
            account=payment.account,
            processor_reference=f"{payment.processor_reference}{name}",
            defaults={"status": EntryStatus.SUCCEEDED},
            create_defaults={
                "payment": payment,
                "kind": EntryKind.REFUND,
                "status": EntryStatus.SUCCEEDED,
                "amount_minor_units": left,
                "currency": newest.currency,
                "occurred_at": newest.occurred_at,
            },
        )
