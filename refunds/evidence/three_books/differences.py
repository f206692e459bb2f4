"""The rule that finds every difference between three books about one payment. Pure: facts in, differences out.

A refund is matched by our own id where a book carries it, else by the provider's. What is younger than the comparison
reaches is left for the next one, since the books are written at different hours.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from ledger.settlements.rows import SettlementCategory, SettlementReport
from refunds.evidence.three_books.facts import (
    Difference,
    OurRefund,
    PaymentBooks,
    SettledLine,
    Standing,
    TheirRefund,
)
from refunds.gateways.port import ProviderStatus
from refunds.states import DifferenceKind

_K = DifferenceKind
_REFUNDS: Final = frozenset({SettlementCategory.REFUND, SettlementCategory.REFUND_FAILURE})
_NO_MONEY: Final = frozenset({ProviderStatus.FAILED, ProviderStatus.CANCELED})
_AGREES: Final = {
    Standing.STANDS: frozenset({ProviderStatus.SUCCEEDED}),
    Standing.PENDING: frozenset(
        {ProviderStatus.PENDING, ProviderStatus.REQUIRES_ACTION, ProviderStatus.UNRECOGNISED}
    ),
    Standing.GONE: _NO_MONEY,
    Standing.UNKNOWN: frozenset[ProviderStatus](),
}


@dataclass(frozen=True, slots=True)
class _Settled:
    """What the reports say of one refund: how much left, and how much of it came back."""

    reference: str
    operation_id: str
    lines: tuple[SettledLine, ...]

    @property
    def out(self) -> int:
        return sum(line.amount_minor_units for line in self.lines if line.amount_minor_units > 0)

    @property
    def net(self) -> int:
        return sum(line.amount_minor_units for line in self.lines)

    @property
    def currency(self) -> str:
        return self.lines[0].currency

    def as_facts(self) -> dict[str, Any]:
        return {
            "out_minor_units": self.out,
            "back_minor_units": self.out - self.net,
            "currency": self.currency,
            "rows": [line.row_reference for line in self.lines],
            "booked_at": self.lines[0].booked_at.isoformat(),
        }


def find_differences(books: PaymentBooks) -> tuple[Difference, ...]:
    """Return every difference, in a fixed order; equal books give none."""
    lines, disagreeing = _one_telling(books.settled)
    settled = _by_refund(line for line in lines if line.category in _REFUNDS and line.booked_at < books.until)
    theirs = {t.processor_reference: t for t in books.theirs or () if _is_ripe(t, books)}
    found = [
        *disagreeing,
        *_per_refund(books, settled, theirs),
        *_missing(books, settled, theirs),
        *_duplicates(settled, theirs),
        *_disputes(books, lines),
    ]
    once = {(d.processor_reference, d.operation_id, d.kind): d for d in reversed(found)}
    return tuple(once[key] for key in sorted(once))


def _is_ripe(refund: TheirRefund, books: PaymentBooks) -> bool:
    return refund.created_at is None or refund.created_at < books.until


def _one_telling(told: Iterable[SettledLine]) -> tuple[list[SettledLine], list[Difference]]:
    """Return each balance transaction once, as the balance report tells it where both have it."""
    known: dict[str, SettledLine] = {}
    differing: list[Difference] = []
    for line in sorted(
        told, key=lambda s: (s.report is not SettlementReport.BALANCE_CHANGE, s.row_reference)
    ):
        first = known.setdefault(line.row_reference, line)
        if _money(first) != _money(line):
            facts = {str(first.report): _line_facts(first), str(line.report): _line_facts(line)}
            differing.append(
                Difference(_K.REPORTS_DISAGREE, line.processor_reference, line.operation_id, facts)
            )
    return list(known.values()), differing


def _money(line: SettledLine) -> tuple[str, str, int, str]:
    return line.category, line.processor_reference, line.amount_minor_units, line.currency


def _line_facts(line: SettledLine) -> dict[str, Any]:
    return {
        "row": line.row_reference,
        "category": str(line.category),
        "amount_minor_units": line.amount_minor_units,
        "currency": line.currency,
    }


def _by_refund(lines: Iterable[SettledLine]) -> dict[str, _Settled]:
    grouped: dict[str, list[SettledLine]] = defaultdict(list)
    for line in sorted(lines, key=lambda s: (s.booked_at, s.row_reference)):
        grouped[line.processor_reference].append(line)
    return {
        reference: _Settled(
            reference, next((s.operation_id for s in rows if s.operation_id), ""), tuple(rows)
        )
        for reference, rows in grouped.items()
    }


def _ours_of(books: PaymentBooks, reference: str, named: str) -> OurRefund | None:
    """Return our refund by our own id, else by the provider's."""
    by_id = (o for o in books.ours if named and o.operation_id == named)
    by_reference = (o for o in books.ours if o.named and o.processor_reference == reference)
    return next(by_id, None) or next(by_reference, None)


def _per_refund(
    books: PaymentBooks, settled: dict[str, _Settled], theirs: dict[str, TheirRefund]
) -> Iterator[Difference]:
    for reference in sorted({*settled, *theirs}):
        line, listed = settled.get(reference), theirs.get(reference)
        named = (listed.operation_id if listed else "") or (line.operation_id if line else "")
        ours = _ours_of(books, reference, named)
        facts = _facts(ours, listed, line)
        if named and all(o.operation_id != named for o in books.ours):
            yield Difference(_K.UNKNOWN_OPERATION_ID, reference, named, facts)
        if ours is None:
            if _stands_there(listed, line) and not _is_counted_unnamed(books, settled, theirs):
                yield Difference(_K.MISSING_OURS, reference, named, facts)
        elif ours.changed_at < books.until:
            for kind in _disagreements(ours, listed, line):
                yield Difference(kind, reference, ours.operation_id or named, facts)


def _stands_there(listed: TheirRefund | None, line: _Settled | None) -> bool:
    return (listed is not None and listed.status not in _NO_MONEY) or (line is not None and line.net > 0)


def _is_counted_unnamed(
    books: PaymentBooks, settled: dict[str, _Settled], theirs: dict[str, TheirRefund]
) -> bool:
    """Tell whether a source counted what we have no names for: a total that covers all of it is the same money."""
    unnamed = sum(o.amount_minor_units for o in books.ours if not o.named and o.standing is Standing.STANDS)
    missing = 0
    for reference in {*settled, *theirs}:
        line, listed = settled.get(reference), theirs.get(reference)
        named = (listed.operation_id if listed else "") or (line.operation_id if line else "")
        if _ours_of(books, reference, named) is None and _stands_there(listed, line):
            missing += listed.amount_minor_units if listed else line.net if line else 0
    return 0 < missing <= unnamed


def _disagreements(
    ours: OurRefund, listed: TheirRefund | None, line: _Settled | None
) -> Iterator[DifferenceKind]:
    """Say in which ways the other books tell this refund of ours differently; each kind once."""
    told = [
        (listed.amount_minor_units, listed.currency) if listed else None,
        (line.out, line.currency) if line and line.out else None,
    ]
    others = [other for other in told if other is not None]
    if any(currency != ours.currency for _, currency in others):
        yield _K.CURRENCY_DIFFERS
    if any(currency == ours.currency and amount != ours.amount_minor_units for amount, currency in others):
        yield _K.AMOUNT_DIFFERS
    if line is not None and line.net > 0 and ours.standing is Standing.GONE:
        yield _K.FAILED_BUT_SETTLED
    if line is not None and line.out and line.net <= 0 and ours.standing is Standing.STANDS:
        yield _K.COMPLETED_BUT_RETURNED
    unproven = line is not None and ours.standing is Standing.UNKNOWN  # a report proves what we doubt
    if unproven or (listed is not None and listed.status not in _AGREES[ours.standing]):
        yield _K.STATUS_DIFFERS


def _missing(
    books: PaymentBooks, settled: dict[str, _Settled], theirs: dict[str, TheirRefund]
) -> Iterator[Difference]:
    for ours in books.ours:
        if not ours.named or ours.reversal or ours.changed_at >= books.until:
            continue
        line = _of_ours(ours, settled.values())
        listed = _of_ours(ours, theirs.values())
        facts = _facts(ours, listed, line)
        if _entry_differs(ours):
            yield Difference(_K.AMOUNT_DIFFERS, ours.processor_reference, ours.operation_id, facts)
        if ours.denied:
            yield Difference(_K.STATUS_DIFFERS, ours.processor_reference, ours.operation_id, facts)
        if line is None and ours.standing is Standing.STANDS and _is_covered(ours, books):
            yield Difference(_K.MISSING_IN_SETTLEMENT, ours.processor_reference, ours.operation_id, facts)
        held = ours.standing in {Standing.STANDS, Standing.PENDING}
        if listed is None and books.theirs is not None and held and not _is_young(ours, books):
            yield Difference(_K.MISSING_AT_PROVIDER, ours.processor_reference, ours.operation_id, facts)


def _is_covered(ours: OurRefund, books: PaymentBooks) -> bool:
    """Tell whether the reports that were imported reach over the moment of the refund."""
    since, until = books.settled_since, books.settled_until
    return since is not None and until is not None and since <= ours.happened_at <= until


def _is_young(ours: OurRefund, books: PaymentBooks) -> bool:
    """Tell whether the provider has our refund among those that are too young to be compared."""
    return any(
        t.processor_reference == ours.processor_reference or t.operation_id == ours.operation_id != ""
        for t in books.theirs or ()
    )


def _of_ours(ours: OurRefund, others: Iterable[Any]) -> Any:
    for other in others:
        reference = other.reference if isinstance(other, _Settled) else other.processor_reference
        if ours.operation_id and other.operation_id == ours.operation_id:
            return other
        if ours.processor_reference and reference == ours.processor_reference:
            return other
    return None


def _entry_differs(ours: OurRefund) -> bool:
    """Tell whether our own ledger has another amount under this refund's reference than was ordered."""
    return ours.entry_amount_minor_units not in {None, ours.amount_minor_units}


def _duplicates(settled: dict[str, _Settled], theirs: dict[str, TheirRefund]) -> Iterator[Difference]:
    standing: dict[str, set[str]] = defaultdict(set)
    for line in settled.values():
        if line.operation_id and line.net > 0:
            standing[line.operation_id].add(line.reference)
    for listed in theirs.values():
        if listed.operation_id and listed.status not in _NO_MONEY:
            standing[listed.operation_id].add(listed.processor_reference)
    for operation_id, references in standing.items():
        if len(references) > 1:
            facts = {"refunds": sorted(references)}
            yield Difference(_K.DUPLICATE_FOR_OPERATION, "", operation_id, facts)


def _disputes(books: PaymentBooks, lines: Iterable[SettledLine]) -> Iterator[Difference]:
    about = [
        line
        for line in lines
        if line.booked_at < books.until
        and line.category in {SettlementCategory.DISPUTE, SettlementCategory.DISPUTE_REVERSAL}
    ]
    if sum(line.amount_minor_units for line in about) > 0 and not books.dispute_known:
        facts = {"settlement": [_line_facts(line) for line in sorted(about, key=lambda s: s.row_reference)]}
        yield Difference(_K.DISPUTE_MISSING_OURS, about[0].processor_reference, "", facts)


def _facts(ours: OurRefund | None, listed: TheirRefund | None, line: _Settled | None) -> dict[str, Any]:
    """Return what each book says, as plain JSON that is the same for as long as the books are."""
    facts: dict[str, Any] = {}
    if ours is not None:
        facts["ours"] = {
            "amount_minor_units": ours.amount_minor_units,
            "currency": ours.currency,
            "state": ours.state,
            "processor_reference": ours.processor_reference,
        }
        if ours.entry_amount_minor_units is not None:
            facts["ours"]["entry_amount_minor_units"] = ours.entry_amount_minor_units
        if ours.denied:
            facts["ours"]["entry"] = str(ours.standing)
    if listed is not None:
        facts["provider"] = {
            "amount_minor_units": listed.amount_minor_units,
            "currency": listed.currency,
            "status": str(listed.status),
            "processor_reference": listed.processor_reference,
        }
    if line is not None:
        facts["settlement"] = line.as_facts()
    return facts
