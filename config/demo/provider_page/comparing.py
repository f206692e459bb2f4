"""Puts the provider's book beside ours, payment by payment, and marks what differs by the rule of the nightly one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q

from config.demo.provider_page.actions import ACTIONS, Action
from config.demo.provider_page.simulator import Book
from config.demo.provider_page.wording import difference_text
from ledger.models import LedgerEntry, Payment
from ledger.money import Money
from ledger.snapshot import EntryKind
from refunds.evidence.three_books.differences import find_differences
from refunds.evidence.three_books.facts import Difference, OurRefund, PaymentBooks, TheirRefund
from refunds.evidence.three_books.reading import read_books
from refunds.gateways.registry import get_contract
from refunds.gateways.stripe_objects import read_refund
from refunds.models import RefundOperation

MOST_SHOWN: Final = 100
# The nightly comparison leaves the youngest to the next night; here everything is compared, whatever the clock says.
_NOTHING_IS_TOO_YOUNG: Final = timedelta(days=3650)

_HAS_REFUND: Final = ExpressionWrapper(
    Q(Exists(RefundOperation.objects.filter(payment=OuterRef("pk"))))
    | Q(Exists(LedgerEntry.objects.filter(payment=OuterRef("pk"), kind=EntryKind.REFUND))),
    output_field=BooleanField(),
)

Reference = tuple[str, str]  # account, and a charge or payment intent


@dataclass(frozen=True, slots=True)
class Line:
    """One refund in both books; what one of them lacks is empty."""

    reference: str
    theirs: str
    their_status: str
    ours: str
    our_state: str
    operation_id: str
    differences: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return what differs, as people read it."""
        return tuple(difference_text(kind) for kind in self.differences)

    @property
    def actions(self) -> tuple[Action, ...]:
        """Return what may be let happen to the refund at the provider."""
        names = {"pending": ("settle-refund", "fail-refund"), "succeeded": ("fail-refund",)}
        return tuple(ACTIONS[name] for name in names.get(self.their_status, ()))


@dataclass(frozen=True, slots=True)
class PaymentBeside:
    """One payment, its refunds in both books, and how many of them differ."""

    reference: str
    charge: str  # at the provider; empty where it does not know the payment
    account: str
    order_number: str
    merchant: str
    captured: str
    disputed: bool
    lines: tuple[Line, ...]
    differing: int

    @property
    def known_there(self) -> bool:
        """Whether the provider knows this payment at all."""
        return bool(self.charge)


@dataclass(frozen=True, slots=True)
class Beside:
    """What the page shows: differing payments first, then the newest; the rest is only counted."""

    payments: tuple[PaymentBeside, ...]
    differing: int
    not_shown: int
    untouched: int


def put_beside(book: Book, *, merchant_ids: frozenset[int] | None, now: datetime) -> Beside:
    """Return both books for the payments of these merchants (None: of all) that have a refund in either."""
    charges, refunds = _by_payment(book.charges), _by_payment(book.refunds)
    scoped = Payment.objects.select_related("merchant", "order").order_by("-created_at", "-pk")
    if merchant_ids is not None:
        scoped = scoped.filter(merchant_id__in=merchant_ids)
    named = Q(processor_reference__in={reference for _, reference in refunds})
    found = scoped.annotate(has_refund=_HAS_REFUND).filter(named | Q(has_refund=True))
    # Another account may use the same reference.
    touched = [one for one in found if one.has_refund or (one.account, one.processor_reference) in refunds]
    ours = _our_books(touched, now)
    beside = [_beside(payment, ours[payment.pk], charges, refunds) for payment in touched]
    beside.sort(key=lambda one: not one.differing)
    return Beside(
        payments=tuple(beside[:MOST_SHOWN]),
        differing=sum(1 for one in beside if one.differing),
        not_shown=max(0, len(beside) - MOST_SHOWN),
        untouched=scoped.count() - len(touched),
    )


def _by_payment(things: Iterable[Mapping[str, Any]]) -> dict[Reference, list[Mapping[str, Any]]]:
    """Return objects by account and by each of the two references that their payment has."""
    found: dict[Reference, list[Mapping[str, Any]]] = defaultdict(list)
    for thing in things:
        charge = thing["id"] if thing["object"] == "charge" else thing["charge"]
        for reference in {charge, thing["payment_intent"]}:
            found[thing["account"], reference].append(thing)
    return found


def _our_books(payments: Sequence[Payment], now: datetime) -> dict[int, PaymentBooks]:
    by_merchant: dict[int, list[int]] = defaultdict(list)
    for payment in payments:
        by_merchant[payment.merchant_id].append(payment.pk)
    until = now + _NOTHING_IS_TOO_YOUNG
    return {
        payment.pk: books
        for ids in by_merchant.values()
        for payment, books in read_books(ids, reach={}, until=until)
    }


def _beside(
    payment: Payment,
    ours: PaymentBooks,
    charges: Mapping[Reference, Sequence[Mapping[str, Any]]],
    refunds: Mapping[Reference, Sequence[Mapping[str, Any]]],
) -> PaymentBeside:
    key = (payment.account, payment.processor_reference)
    charge = next(iter(charges.get(key, ())), None)
    theirs = tuple(_theirs(refund, payment.processor_reference) for refund in refunds.get(key, ()))
    differences = find_differences(replace(ours, theirs=tuple(one for one in theirs if one is not None)))
    lines = tuple(_lines(ours.ours, [one for one in theirs if one is not None], differences))
    captured = Money(charge["amount_captured"], str(charge["currency"]).upper()) if charge else None
    return PaymentBeside(
        reference=payment.processor_reference,
        charge=charge["id"] if charge else "",
        account=payment.account,
        order_number=payment.order.number,
        merchant=payment.merchant.name,
        captured=str(captured) if captured else "",
        disputed=bool(charge and charge["disputed"]),
        lines=lines,
        differing=sum(1 for line in lines if line.differences),
    )


def _theirs(refund: Mapping[str, Any], payment_reference: str) -> TheirRefund | None:
    fact = read_refund(refund, contract=get_contract(), payment_reference=payment_reference)
    if fact is None:
        return None
    return TheirRefund(
        processor_reference=fact.processor_reference,
        operation_id=fact.operation_id or "",
        amount_minor_units=fact.amount_minor_units,
        currency=fact.currency,
        status=fact.status,
        created_at=fact.created_at,
    )


def _lines(
    ours: Sequence[OurRefund], theirs: Sequence[TheirRefund], differences: Sequence[Difference]
) -> Iterable[Line]:
    rest = list(ours)
    for their in theirs:
        our = next((one for one in rest if _is_same(one, their)), None)
        if our is not None:
            rest.remove(our)
        yield _line(our, their, differences)
    for our in rest:
        yield _line(our, None, differences)


def _is_same(our: OurRefund, their: TheirRefund) -> bool:
    if our.operation_id and our.operation_id == their.operation_id:
        return True
    return bool(our.processor_reference) and our.processor_reference == their.processor_reference


def _line(our: OurRefund | None, their: TheirRefund | None, differences: Sequence[Difference]) -> Line:
    references = {one.processor_reference for one in (our, their) if one} - {""}
    operations = {one.operation_id for one in (our, their) if one} - {""}
    kinds = {
        str(difference.kind)
        for difference in differences
        if difference.processor_reference in references
        or (not difference.processor_reference and difference.operation_id in operations)
    }
    return Line(
        reference=next(iter(sorted(references)), ""),
        theirs=str(Money(their.amount_minor_units, their.currency)) if their else "",
        their_status=str(their.status).lower() if their else "",
        ours=str(Money(our.amount_minor_units, our.currency)) if our else "",
        our_state=our.state if our else "",
        operation_id=next(iter(sorted(operations)), ""),
        differences=tuple(sorted(kinds)),
    )
