"""Payments that facts have overdrawn: found, shown to people, and released by a person once the facts bear it.

PostgreSQL freezes a payment in the transaction of the fact itself (``refunds.models.conservation``). What stands here
is what a trigger cannot do: the evidence, the case, and the way out. A frozen payment holds refunds back; it takes
nothing away from what is known, and never refuses a fact.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import structlog
from django.db import connection, transaction
from django.db.models import CharField, Exists, OuterRef, Value
from django.db.models.functions import Cast, Concat

from approvals.business_days import business_days_after
from approvals.cases import close_cases, open_case
from approvals.models import ReviewCase
from approvals.states import CaseKind
from ledger.actors import Actor
from ledger.models import Payment
from ledger.outbox import append_audit_event
from refunds.evidence.notes import keep_note
from refunds.evidence.remaining import Conservation, conservation_of
from refunds.evidence.review_due import DEFAULT_DAYS
from refunds.models.conservation import OVERDRAWN, sums_of
from refunds.selectors.invariant_checks import OVERDRAWN_PAYMENTS, PARAMETERS

FROZEN: Final = "PAYMENT_FROZEN"
SUBJECT: Final = "payment:"
BATCH: Final = 100
logger = structlog.get_logger("payments")


class NotFrozenError(ValueError):
    """If you see this, somebody released the payment already, or it never was frozen."""


class StillOverdrawnError(ValueError):
    """If you see this, the facts still say that more went back than was captured: they must change first."""

    def __init__(self, money: Conservation) -> None:
        super().__init__(f"more than the capture is gone, by {money.overdrawn} minor units")
        self.money = money


def report_frozen(*, now: datetime) -> int:
    """Freeze what was overdrawn unseen, and open a case for each frozen payment that has none; return how many."""
    for payment_id in _overdrawn():
        _freeze(payment_id, now)
    for payment_id in _without_case():
        _report(payment_id, now)
    return Payment.objects.filter(frozen_at__isnull=False).count()


def freeze_overdrawn(payment_ids: Sequence[int], *, now: datetime) -> int:
    """Freeze those of the payments that the facts overdraw; return how many. The nightly check on what is."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT p.id FROM ledger_payments p, LATERAL ({sums_of("p.id")}) sums
                WHERE p.id = ANY(%s) AND p.frozen_at IS NULL AND sums.overdrawn > 0""",  # noqa: S608 - our own
            [list(payment_ids)],
        )
        found = [payment_id for (payment_id,) in cursor.fetchall()]
    for payment_id in found:
        _freeze(payment_id, now)
    return len(found)


def release_payment(*, payment_id: int, reason: str, actor: Actor, now: datetime, note: str = "") -> None:
    """Let refunds of the payment go on; the reason is evidence. Raises NotFrozenError and StillOverdrawnError.

    One person is enough: no money moves by it. Every refund still needs its own approval and what the sums bear.
    """
    with transaction.atomic():
        payment = _locked(payment_id)
        money = conservation_of(payment_id)
        if payment.frozen_at is None:
            raise NotFrozenError(str(payment_id))
        if money.overdrawn > 0:
            raise StillOverdrawnError(money)
        since = payment.frozen_at
        payment.frozen_at, payment.frozen_reason = None, ""
        payment.save(update_fields=["frozen_at", "frozen_reason"])
        close_cases(subject_id=f"{SUBJECT}{payment_id}", because="PAYMENT_RELEASED", now=now)
        append_audit_event(
            topic="payment.released",
            subject=str(payment_id),
            payload={
                **_evidence(payment, money),
                "frozen_since": since.isoformat(),
                "actor": {"type": str(actor.type), "id": actor.id},
                "reason": reason[:200],
                **keep_note(note, now=now),
            },
            now=now,
        )


def _overdrawn() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(f"{OVERDRAWN_PAYMENTS} LIMIT {BATCH}", PARAMETERS)
        return [payment_id for (payment_id,) in cursor.fetchall()]


def _freeze(payment_id: int, now: datetime) -> None:
    """Freeze what two facts overdrew together, each of which alone did not."""
    with transaction.atomic():
        payment = _locked(payment_id)
        if payment.frozen_at is None and conservation_of(payment_id).overdrawn > 0:
            payment.frozen_at, payment.frozen_reason = now, OVERDRAWN
            payment.save(update_fields=["frozen_at", "frozen_reason"])


def _without_case() -> list[int]:
    subject = Concat(Value(SUBJECT), Cast("pk", CharField()))
    opened = ReviewCase.objects.filter(
        subject_id=OuterRef("subject"), kind=CaseKind.FINANCE, closed_at__isnull=True
    )
    waiting = (
        Payment.objects.filter(frozen_at__isnull=False).annotate(subject=subject).exclude(Exists(opened))
    )
    return list(waiting.order_by("frozen_at", "pk").values_list("pk", flat=True)[:BATCH])


def _report(payment_id: int, now: datetime) -> None:
    with transaction.atomic():
        payment = _locked(payment_id)
        if payment.frozen_at is None:
            return
        case = open_case(
            kind=CaseKind.FINANCE,
            subject_id=f"{SUBJECT}{payment_id}",
            merchant_id=payment.merchant_id,
            reason=FROZEN,
            now=now,
            due_at=business_days_after(now, DEFAULT_DAYS),
        )
        evidence = _evidence(payment, conservation_of(payment_id))
        append_audit_event(
            topic="payment.frozen",
            subject=str(payment_id),
            payload={**evidence, "ticket": case.ticket, "frozen_since": payment.frozen_at.isoformat()},
            now=now,
        )
    logger.error("payment.frozen", payment_id=payment_id, **evidence["sums"])


def _locked(payment_id: int) -> Payment:
    return Payment.objects.select_for_update(of=("self",), no_key=True).get(pk=payment_id)


def _evidence(payment: Payment, money: Conservation) -> dict[str, dict[str, int]]:
    names = ("captured", "refunded", "pending", "reserved", "disputed", "remaining", "overdrawn")
    return {"payment": {"id": payment.pk}, "sums": {name: getattr(money, name) for name in names}}
