"""The duplicate rule (stage 5): is one of an order's charges a second charge for the same purchase? Pure.

The finding is made in two steps that never mix. First ``_is_proven`` asks for every clause of the rule, as
one conjunction, and only that gives VERIFIED_DUPLICATE_CHARGE. If a clause does not hold,
``ledger.lookalikes`` names what the rows show instead; nothing there can verify anything.

VERIFIED needs all of: a fresh snapshot; exactly two completed captures, of two payments, on this order;
the same amount and currency, which is also the order's; the same payment method as far as the source
tells; both inside one window of the policy's length; neither refunded, reversed or disputed in any part; no
open operation on either; and net captured minus order total equal to that one amount. The later capture is
refunded; on a tie of times, the one with the larger processor reference.

The window says how far apart two charges of one purchase may lie. How long ago a purchase may be is another
number of the policy and is checked with the proposal (stage 7), so an older pair is still named for what it is.
"""

from datetime import datetime, timedelta

from ledger.charges import PAIR, Capture, OrderCharges
from ledger.findings import RULE_VERSION, DuplicateFinding, Finding, ReasonCode
from ledger.lookalikes import Explanation, explain
from ledger.snapshot import EntryKind, OrderView

__all__ = ["RULE_VERSION", "DuplicateFinding", "Finding", "ReasonCode", "find_duplicate"]


def find_duplicate(
    *,
    order: OrderView,
    taken_at: datetime,
    now: datetime,
    max_snapshot_age: timedelta,
    window: timedelta,
    open_operation_payment_ids: frozenset[int],
) -> DuplicateFinding:
    """Return the finding for one order; every order has exactly one, and no order raises.

    ``taken_at`` is when a source last confirmed the rows; ``window`` is how far apart the two charges may lie
    (times are aware). ``open_operation_payment_ids`` are the payments with an unresolved refund operation; a
    caller that asks on behalf of an operation leaves that operation out.
    """
    charges = OrderCharges.of(order)
    fresh = (
        abs(now - taken_at) <= max_snapshot_age
    )  # a time ahead of the clock proves no more than an old one
    if fresh and _is_proven(charges, now=now, window=window, open_payment_ids=open_operation_payment_ids):
        return _verified(charges)
    explanation = explain(
        charges, fresh=fresh, now=now, window=window, open_payment_ids=open_operation_payment_ids
    )
    return _explained(explanation)


def _is_proven(
    charges: OrderCharges, *, now: datetime, window: timedelta, open_payment_ids: frozenset[int]
) -> bool:
    if charges.conflicts or charges.pending_captures or len(charges.captures) != PAIR:
        return False
    first, second = charges.captures
    return (
        first.payment.payment_id != second.payment.payment_id
        and first.amount == second.amount
        and first.currency == second.currency == charges.order.currency
        and first.same_method_as(second)
        and first.close_to(second, window, now)
        and not first.live(EntryKind.REFUND)
        and not second.live(EntryKind.REFUND)
        and not first.live(EntryKind.REVERSAL)
        and not second.live(EntryKind.REVERSAL)
        and not charges.disputes
        and open_payment_ids.isdisjoint({first.payment.payment_id, second.payment.payment_id})
        and charges.order.total_minor_units is not None
        and first.amount + second.amount - charges.order.total_minor_units == first.amount
    )


def _verified(charges: OrderCharges) -> DuplicateFinding:
    kept, refunded = sorted(charges.captures, key=Capture.age_key)
    return DuplicateFinding(
        finding=Finding.VERIFIED_DUPLICATE_CHARGE,
        reason_code=ReasonCode.TWO_CAPTURES_OF_ONE_PURCHASE,
        refund_payment_id=refunded.payment.payment_id,
        kept_payment_id=kept.payment.payment_id,
        refund_reference=refunded.payment.processor_reference,
        kept_reference=kept.payment.processor_reference,
        amount_minor_units=refunded.amount,
        currency=refunded.currency,
        evidence=(kept.entry.processor_reference, refunded.entry.processor_reference),
    )


def _explained(explanation: Explanation) -> DuplicateFinding:
    return DuplicateFinding(
        finding=(
            Finding.REQUIRES_INVESTIGATION
            if explanation.reason_code.needs_investigation
            else Finding.NO_DUPLICATE_FOUND
        ),
        reason_code=explanation.reason_code,
        evidence=explanation.evidence,
        other_order_numbers=explanation.other_order_numbers,
    )
