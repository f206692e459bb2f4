"""Compares one merchant's books: ours and the reports for every payment, the provider's list for some of them.

No transaction is open while the provider is asked. Payments are read a few hundred at a time, day by day from the
newest, so that memory does not grow with the number of refunds. The provider is asked about what was active on the
compared day and about what differs, and about no more payments than the limit: reads are counted at the provider.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from django.db.models import Exists, OuterRef

from ledger.models import Merchant, Payment, SettlementFile
from refunds.evidence.frozen import freeze_overdrawn
from refunds.evidence.late_checks import late_horizon
from refunds.evidence.three_books.differences import find_differences
from refunds.evidence.three_books.facts import PaymentBooks, TheirRefund
from refunds.evidence.three_books.reading import (
    Reach,
    Window,
    payments_active,
    reach_of_reports,
    read_books,
    refunds_of_foreign_payments,
)
from refunds.evidence.three_books.recording import Found, record_comparison
from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import Gateway, RefundFact
from refunds.models import BookComparison, RefundOperation
from refunds.states import CheckCause

# Operator decisions: for a provider that states no lag of its reports, and for how long after a refund may still fail
# its reports are given time to say so.
USUAL_LAG: Final = timedelta(hours=36)
LATE_REPORTS: Final = timedelta(days=5)
MOST_ASKED: Final = 500
MOST_KEPT: Final = 5000
_CHUNK: Final = 200
_DAY: Final = timedelta(days=1)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOrder:
    """What to compare. ``gateway`` None: our book and the reports alone."""

    merchant: Merchant
    books_of: date
    gateway: Gateway | None
    contract: ProviderContract
    cause: CheckCause = CheckCause.SCHEDULED
    most_asked: int = MOST_ASKED


@dataclass(slots=True)
class _Run:
    """What one comparison has seen so far."""

    order: ComparisonOrder
    until: datetime
    now: datetime
    reach: dict[str, Reach]
    found: dict[str, Found] = field(default_factory=dict)
    payments: int = 0
    asked: set[int] = field(default_factory=set)
    unread: int = 0
    not_asked: int = 0
    foreign: int = 0
    capped: bool = False


def newest_comparable_day(now: datetime, contract: ProviderContract) -> date:
    """Return the last day (UTC) whose settlement reports can be there."""
    stated = contract.settlement.lag_seconds.value
    lag = USUAL_LAG if stated is None else timedelta(seconds=stated)
    return (now - lag).astimezone(UTC).date() - _DAY


def merchants_due(day: date) -> list[Merchant]:
    """Return the merchants with refunds or reports whose books of that day no scheduled run has compared."""
    active = RefundOperation.objects.filter(merchant=OuterRef("pk"))
    settled = SettlementFile.objects.filter(merchant=OuterRef("pk"))
    done = BookComparison.objects.filter(merchant=OuterRef("pk"), books_of=day, cause=CheckCause.SCHEDULED)
    waiting = Merchant.objects.filter(Exists(active) | Exists(settled)).exclude(Exists(done))
    return list(waiting.order_by("pk"))


def compare_books(
    order: ComparisonOrder, *, clock: Callable[[], datetime], progress: Progress = lambda _: None
) -> BookComparison | None:
    """Compare, keep what differs, and return the stored comparison; None if another worker was faster.

    Payments that the facts overdraw are frozen on the way; nothing else is changed, and no difference is mended.
    """
    started = clock()
    until = datetime.combine(order.books_of, time.min, UTC) + _DAY
    run = _Run(order, until, started, reach=reach_of_reports(order.merchant.pk))
    for window in _days(order, until):
        active = payments_active(window)
        run.foreign += refunds_of_foreign_payments(window)
        for start in range(0, len(active), _CHUNK):
            _compare_some(run, active[start : start + _CHUNK], newest=window.until == until)
        if active:
            progress(f"{window.since.date()}: {len(active)} payments, {len(run.found)} differences so far")
    return record_comparison(_summary(run, clock()), list(run.found.values()), now=clock())


def _days(order: ComparisonOrder, until: datetime) -> Iterator[Window]:
    """Yield one window a day, the newest first, for as long as a refund may still change."""
    end, first = until, until - late_horizon(order.contract) - LATE_REPORTS
    while end > first:
        yield Window(order.merchant.pk, end - _DAY, end)
        end -= _DAY


def _compare_some(run: _Run, payment_ids: Sequence[int], *, newest: bool) -> None:
    freeze_overdrawn(payment_ids, now=run.now)
    for payment, books in read_books(payment_ids, reach=run.reach, until=run.until):
        differing = find_differences(books)
        run.payments += 1
        if run.order.gateway is not None and (newest or differing) and payment.pk not in run.asked:
            differing = find_differences(_ask(run, run.order.gateway, payment, books))
        for difference in differing:
            found = Found(payment, difference)
            if len(run.found) >= MOST_KEPT and found.subject_id not in run.found:
                run.capped = True
                return
            run.found[found.subject_id] = found


def _ask(run: _Run, gateway: Gateway, payment: Payment, books: PaymentBooks) -> PaymentBooks:
    """Return the books with the provider's list in them, if it could be read in full.

    Ours is read once more after that: what moved meanwhile is then younger than what is compared.
    """
    if len(run.asked) >= run.order.most_asked:
        run.not_asked += 1
        return books
    run.asked.add(payment.pk)
    answer = gateway.list_refunds(payment_reference=payment.processor_reference, account=payment.account)
    if not answer.complete:
        run.unread += 1
        return books
    ((_, books),) = read_books([payment.pk], reach=run.reach, until=run.until)
    return replace(books, theirs=tuple(_their(refund) for refund in answer.refunds))


def _their(refund: RefundFact) -> TheirRefund:
    return TheirRefund(
        processor_reference=refund.processor_reference,
        operation_id=refund.operation_id or "",
        amount_minor_units=refund.amount_minor_units,
        currency=refund.currency,
        status=refund.status,
        created_at=refund.created_at,
    )


def _summary(run: _Run, finished: datetime) -> BookComparison:
    return BookComparison(
        merchant=run.order.merchant,
        books_of=run.order.books_of,
        cause=run.order.cause,
        payments=run.payments,
        asked=len(run.asked),
        unread=run.unread,
        not_asked=run.not_asked,
        foreign=run.foreign,
        settled_until=min((until for _, until in run.reach.values()), default=None),
        capped=run.capped,
        started_at=run.now,
        finished_at=finished,
    )
