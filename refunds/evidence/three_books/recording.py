"""Keeps what a comparison found, and brings each difference before people once."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction

from approvals.business_days import business_days_after
from approvals.cases import close_cases, open_case
from approvals.models import ReviewCase
from approvals.states import CaseKind
from ledger.actors import Actor
from ledger.canonical import canonical_sha256
from ledger.models import Payment
from ledger.outbox import append_audit_event
from refunds.evidence.notes import keep_note
from refunds.evidence.review_due import DEFAULT_DAYS
from refunds.evidence.three_books.facts import Difference
from refunds.models import BookComparison, BookDifference
from refunds.states import CheckCause, DifferenceKind

SUBJECT: Final = "books:"
_ONE_AT_A_TIME: Final = (
    8_901_002  # two workers must not both open a case, nor both keep one night's comparison
)
_BATCH: Final = 500


class CaseNotOpenError(ValueError):
    """If you see this, the difference was explained by somebody else meanwhile."""


class FactsChangedError(ValueError):
    """If you see this, a newer comparison found other facts than those that were explained."""


@dataclass(frozen=True, slots=True)
class Found:
    """One difference and the payment that it is about."""

    payment: Payment
    difference: Difference

    @property
    def subject_id(self) -> str:
        """Return the one id of this kind of difference about this refund, whichever night finds it."""
        return SUBJECT + canonical_sha256(
            {
                "kind": str(self.difference.kind),
                "payment": self.payment.pk,
                "processor_reference": self.difference.processor_reference,
                "operation": self.difference.operation_id,
            }
        )[:32]  # fmt: skip


def record_comparison(
    comparison: BookComparison, found: Sequence[Found], *, now: datetime
) -> BookComparison | None:
    """Store a finished comparison with its differences and cases in one transaction.

    None if another worker stored the same night's meanwhile. Nothing but these rows is changed by it.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_AT_A_TIME])
        if comparison.cause == CheckCause.SCHEDULED and is_compared(comparison):
            return None
        once = {each.subject_id: each for each in found}
        counts = Counter(str(each.difference.kind) for each in once.values())
        comparison.counts = {kind: counts[kind] for kind in sorted(counts)}
        comparison.save(force_insert=True)
        for start in range(0, len(once), _BATCH):
            _keep(comparison, list(once.values())[start : start + _BATCH], now)
        append_audit_event(
            topic="books.compared",
            subject=str(comparison.pk),
            payload={
                "merchant": comparison.merchant_id,
                "books_of": comparison.books_of.isoformat(),
                "cause": str(comparison.cause),
                "payments": comparison.payments,
                "differences": comparison.counts,
            },
            now=now,
        )
    return comparison


def is_compared(comparison: BookComparison) -> bool:
    """Say whether the scheduled comparison of this merchant's day is done."""
    return BookComparison.objects.filter(
        merchant_id=comparison.merchant_id, books_of=comparison.books_of, cause=CheckCause.SCHEDULED
    ).exists()


def explain_difference(
    *, case: ReviewCase, actor: Actor, reason_code: str, note: str, now: datetime, seen: str | None = None
) -> None:
    """Close the case of a difference with what a person found out. Raises CaseNotOpenError and FactsChangedError.

    ``seen`` is the digest of the facts that the person saw; what they did not see they do not explain. The books are
    left as they are: the same difference opens no second case, and one whose facts change does.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_AT_A_TIME])
        if not ReviewCase.objects.filter(pk=case.pk, closed_at__isnull=True).exists():
            raise CaseNotOpenError(str(case.ticket))
        if seen is not None and _facts_before([case.subject_id]).get(case.subject_id) != seen:
            raise FactsChangedError(str(case.ticket))
        close_cases(subject_id=case.subject_id, because=reason_code, now=now)
        append_audit_event(
            topic="books.difference_explained",
            subject=case.subject_id,
            payload={
                "ticket": case.ticket,
                "kind": case.reason,
                "actor": {"type": str(actor.type), "id": actor.id},
                "reason": reason_code,
                **keep_note(note, now=now),
            },
            now=now,
        )


def _keep(comparison: BookComparison, found: Sequence[Found], now: datetime) -> None:
    subjects = [each.subject_id for each in found]
    known = _facts_before(subjects)
    states = _cases(subjects)
    rows = [_row(comparison, each, now) for each in found]
    for each, row in zip(found, rows, strict=True):
        is_open = states.get(row.subject_id)
        if is_open or (is_open is False and known.get(row.subject_id) == row.facts_sha256):
            continue  # people have it, or they have explained exactly this
        open_case(
            kind=CaseKind.FINANCE,
            subject_id=row.subject_id,
            merchant_id=each.payment.merchant_id,
            reason=row.kind,
            now=now,
            due_at=business_days_after(now, DEFAULT_DAYS),
        )
    BookDifference.objects.bulk_create(rows)


def _facts_before(subjects: Sequence[str]) -> dict[str, str]:
    """Return the digest of what each difference was when it was last found."""
    last = (
        BookDifference.objects.filter(subject_id__in=subjects)
        .order_by("subject_id", "-at", "-pk")
        .distinct("subject_id")
    )
    return dict(last.values_list("subject_id", "facts_sha256"))


def _cases(subjects: Iterable[str]) -> Mapping[str, bool]:
    """Return for each subject that ever had a case whether one is open."""
    found: dict[str, bool] = {}
    cases = ReviewCase.objects.filter(subject_id__in=subjects, kind=CaseKind.FINANCE)
    for subject_id, closed_at in cases.values_list("subject_id", "closed_at"):
        found[subject_id] = found.get(subject_id, False) or closed_at is None
    return found


def _row(comparison: BookComparison, found: Found, now: datetime) -> BookDifference:
    difference = found.difference
    facts: dict[str, Any] = difference.facts
    return BookDifference(
        comparison=comparison,
        kind=DifferenceKind(difference.kind),
        subject_id=found.subject_id,
        payment=found.payment,
        payment_reference=found.payment.processor_reference,
        operation_id=difference.operation_id,
        processor_reference=difference.processor_reference,
        facts=facts,
        facts_sha256=canonical_sha256(facts),
        at=now,
    )
