"""What an order's rows show when they do not prove a duplicate (stage 5): one reason, by precedence. Pure.

Precedence, each step because the later ones would mislead while it holds:

1. A dispute outranks everything: the bank decides about that money, and a refund beside it pays twice.
2. A stale snapshot and contradictory rows: nothing can be concluded from either.
3. The number of captures: none, three or more, one that is still pending.
4. Charges in another currency than the order's: its total and its charges cannot be compared.
5. One capture: what else looks like a second one (money that went back, a reversal, a hold, a repeated
   row, an equal capture of another order).
6. Two captures: money under way or already back first, since it may have settled the matter; then what
   they are (currency, amounts); then what the order allows (total); then how and when they were paid.

Two different payment methods are not proof and need a person: a customer who pays again with another card
after a seeming decline was charged twice, two people who share a bill were not, and rows cannot tell.
A partly refunded pair is NO_DUPLICATE_FOUND as the rule has it: somebody has dealt with that order already.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ledger.charges import PAIR, Capture, OrderCharges
from ledger.findings import ReasonCode
from ledger.snapshot import EntryKind, EntryStatus, EntryView, PaymentView

DRIFT_PERCENT: Final = 10  # two amounts this close differ by shipping, tax or conversion, not by purchase


@dataclass(frozen=True, slots=True)
class Explanation:
    """A reason with the processor references of the rows that show it."""

    reason_code: ReasonCode
    evidence: tuple[str, ...]
    other_order_numbers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Question:
    charges: OrderCharges
    fresh: bool
    now: datetime
    window: timedelta
    open_payment_ids: frozenset[int]


def explain(
    charges: OrderCharges, *, fresh: bool, now: datetime, window: timedelta, open_payment_ids: frozenset[int]
) -> Explanation:
    """Return why the order does not prove a duplicate; always an answer, NOT_PROVEN in the last resort."""
    question = _Question(charges, fresh, now, window, open_payment_ids)
    for look in (_dispute, _unusable, _count, _order_currency):
        if (explanation := look(question)) is not None:
            return explanation
    if len(charges.captures) == 1:
        return _one_capture(charges)
    for look in (_same_payment_or_open, _reversed, _refunded, _amounts, _against_total, _method_and_time):
        if (explanation := look(question)) is not None:
            return explanation
    return _because(ReasonCode.NOT_PROVEN, _entries(*charges.captures))


def _because(code: ReasonCode, rows: tuple[EntryView, ...]) -> Explanation:
    ordered = sorted(rows, key=lambda e: (e.occurred_at, e.processor_reference))
    return Explanation(code, tuple(dict.fromkeys(entry.processor_reference for entry in ordered)))


def _entries(*captures: Capture) -> tuple[EntryView, ...]:
    return tuple(capture.entry for capture in captures)


def _dispute(question: _Question) -> Explanation | None:
    disputes = question.charges.disputes
    if not disputes:
        return None
    decided = all(entry.status in {EntryStatus.WON, EntryStatus.LOST} for entry in disputes)
    return _because(
        ReasonCode.DISPUTE_DECIDED if decided else ReasonCode.DISPUTE_OPEN,
        (*_entries(*question.charges.captures), *disputes),
    )


def _unusable(question: _Question) -> Explanation | None:
    if not question.fresh:
        return _because(ReasonCode.STALE_SNAPSHOT, _entries(*question.charges.captures))
    if question.charges.conflicts:
        return Explanation(ReasonCode.CONFLICTING_ROWS, question.charges.conflicts)
    return None


def _count(question: _Question) -> Explanation | None:
    captures, pending = question.charges.captures, question.charges.pending_captures
    if len(captures) > PAIR:
        return _because(ReasonCode.THREE_OR_MORE_CAPTURES, _entries(*captures))
    if pending and len(captures) + len(pending) > 1:
        return _because(ReasonCode.CAPTURE_PENDING, _entries(*captures, *pending))
    if not captures:
        rows = tuple(entry for payment in question.charges.payments for entry in payment.entries)
        return _because(ReasonCode.NO_COMPLETED_CAPTURE, rows)
    return None


def _order_currency(question: _Question) -> Explanation | None:
    charged = {capture.currency for capture in question.charges.captures}
    shown = question.charges.order.currency
    if shown and shown not in charged:
        return _because(ReasonCode.ORDER_CURRENCY_DISAGREES, _entries(*question.charges.captures))
    return None


def _one_capture(charges: OrderCharges) -> Explanation:
    (capture,) = charges.captures
    refunds, reversals = capture.returns(EntryKind.REFUND), capture.returns(EntryKind.REVERSAL)
    if capture.settled(EntryKind.REVERSAL):
        return _because(ReasonCode.CHARGE_AND_REVERSAL, (capture.entry, *reversals))
    if refunded := capture.settled(EntryKind.REFUND):
        full = refunded >= capture.amount
        code = ReasonCode.ALREADY_REFUNDED if full else ReasonCode.EARLIER_PARTIAL_REFUND
        return _because(code, (capture.entry, *refunds))
    if charges.uncaptured:
        holds = tuple(entry for hold in charges.uncaptured for entry in hold.entries)
        released = all(_is_released(hold) for hold in charges.uncaptured)
        code = ReasonCode.HOLD_RELEASED if released else ReasonCode.AUTHORISATION_HOLD
        return _because(code, (capture.entry, *holds))
    if capture.entry.seen_count > 1:
        return _because(ReasonCode.REPEATED_DISPLAY_EVENT, (capture.entry,))
    return _other_order(charges, capture) or _because(ReasonCode.SINGLE_CHARGE, (capture.entry,))


def _is_released(hold: PaymentView) -> bool:
    # A provider may book the release of a hold as a refund of an uncaptured charge (docs.stripe.com/refunds).
    return any(
        entry.kind in {EntryKind.REVERSAL, EntryKind.REFUND} and entry.status is EntryStatus.SUCCEEDED
        for entry in hold.entries
    )


def _other_order(charges: OrderCharges, capture: Capture) -> Explanation | None:
    equal = {
        entry: sibling.number
        for sibling in charges.order.siblings
        for entry in sibling.captures
        if entry.processor_reference != capture.entry.processor_reference
        and (entry.amount_minor_units, entry.currency) == (capture.amount, capture.currency)
    }
    if not equal:
        return None
    found = _because(ReasonCode.TWO_ORDERS, (capture.entry, *equal))
    return Explanation(found.reason_code, found.evidence, tuple(sorted(set(equal.values()))))


def _same_payment_or_open(question: _Question) -> Explanation | None:
    first, second = question.charges.captures
    if first.payment.payment_id == second.payment.payment_id:
        return _because(ReasonCode.CAPTURES_OF_ONE_PAYMENT, _entries(first, second))
    busy = tuple(c for c in (first, second) if c.payment.payment_id in question.open_payment_ids)
    return _because(ReasonCode.OPEN_OPERATION, _entries(*busy)) if busy else None


def _reversed(question: _Question) -> Explanation | None:
    pair = question.charges.captures
    rows = tuple(entry for capture in pair for entry in capture.returns(EntryKind.REVERSAL))
    if not rows:
        return None
    whole = any(capture.settled(EntryKind.REVERSAL) >= capture.amount for capture in pair)
    code = ReasonCode.CHARGE_AND_REVERSAL if whole else ReasonCode.REVERSAL_INCOMPLETE
    return _because(code, (*_entries(*pair), *rows))


def _refunded(question: _Question) -> Explanation | None:
    pair = question.charges.captures
    rows = tuple(entry for capture in pair for entry in capture.returns(EntryKind.REFUND))
    if not rows:
        return None
    if any(capture.settled(EntryKind.REFUND) >= capture.amount for capture in pair):
        code = ReasonCode.ALREADY_REFUNDED
    elif any(entry.status is not EntryStatus.SUCCEEDED for entry in rows):
        code = ReasonCode.REFUND_PENDING
    else:
        code = ReasonCode.EARLIER_PARTIAL_REFUND
    return _because(code, (*_entries(*pair), *rows))


def _amounts(question: _Question) -> Explanation | None:
    first, second = question.charges.captures
    rows = _entries(first, second)
    if first.currency != second.currency:
        return _because(ReasonCode.DIFFERENT_CURRENCIES, rows)
    if first.amount == second.amount:
        return None
    if first.amount + second.amount == question.charges.order.total_minor_units:
        return _because(ReasonCode.SPLIT_TENDER, rows)
    larger = max(first.amount, second.amount)
    near = abs(first.amount - second.amount) * 100 <= larger * DRIFT_PERCENT
    return _because(ReasonCode.AMOUNT_DRIFT if near else ReasonCode.DIFFERENT_AMOUNTS, rows)


def _against_total(question: _Question) -> Explanation | None:
    first, second = question.charges.captures
    order, rows = question.charges.order, _entries(first, second)
    if order.total_minor_units is None or not order.currency:
        return _because(ReasonCode.UNKNOWN_ORDER_TOTAL, rows)
    if order.total_minor_units >= first.amount + second.amount:
        return _because(ReasonCode.TOTAL_COVERS_BOTH, rows)
    if order.total_minor_units != first.amount:
        return _because(ReasonCode.TOTAL_DISAGREES, rows)
    return None


def _method_and_time(question: _Question) -> Explanation | None:
    first, second = question.charges.captures
    rows = _entries(first, second)
    if not first.same_method_as(second):
        return _because(ReasonCode.DIFFERENT_PAYMENT_METHODS, rows)
    if not first.close_to(second, question.window, question.now):
        return _because(ReasonCode.OUTSIDE_WINDOW, rows)
    return None
