"""The review queue of one member of staff: open cases of their merchants, oldest first, in a few queries."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from approvals.models import ApprovalRequest, ReviewCase
from approvals.states import ApprovalState, SubjectKind
from ledger.ids import normalise_reference
from ledger.models import StaffMembership
from refunds.models import RefundOperation, RefundWorkflow
from refunds.selectors.review_books import BookSubject, book_subjects
from refunds.selectors.review_charges import money_text
from refunds.selectors.review_lease import lease_of, names_of, promise_of
from refunds.selectors.review_records import (
    ClosedCase,
    Lease,
    QueueFilter,
    QueuePage,
    QueueRow,
    Reviewer,
)

PAGE_SIZE: Final = 50
MOST_ROWS: Final = 20_000  # of one file
_BATCH: Final = 500


def get_reviewer(*, user_id: int) -> Reviewer:
    """Return the merchants that a member of staff works for; nobody works for all of them."""
    memberships = StaffMembership.objects.filter(user_id=user_id).values_list("merchant_id", "can_approve")
    return Reviewer(
        user_id=user_id,
        merchant_ids=frozenset(merchant_id for merchant_id, _ in memberships),
        approves_for=frozenset(merchant_id for merchant_id, can_approve in memberships if can_approve),
    )


def list_queue(*, reviewer: Reviewer, wanted: QueueFilter, page: int, now: datetime) -> QueuePage:
    """Return one page of the open cases that the reviewer may read; a page beyond the last is the last."""
    cases = _filtered(_cases_of(reviewer).filter(closed_at__isnull=True), wanted, reviewer, now)
    total = cases.count()
    pages = max(1, -(-total // PAGE_SIZE))
    page = min(max(page, 1), pages)
    start = (page - 1) * PAGE_SIZE
    rows = list(
        cases.select_related("merchant").order_by("opened_at", "ticket")[start : start + PAGE_SIZE]
        if total
        else []
    )
    return QueuePage(
        rows=_rows(rows, reviewer, now),
        total=total,
        page=page,
        pages=pages,
        last_closed=None if total or wanted.is_set else _last_closed(reviewer),
    )


def all_rows(*, reviewer: Reviewer, wanted: QueueFilter, now: datetime) -> Iterator[QueueRow]:
    """Yield the whole queue in the order of its pages, a bounded batch at a time; at most ``MOST_ROWS`` rows."""
    cases = _filtered(_cases_of(reviewer).filter(closed_at__isnull=True), wanted, reviewer, now)
    after: tuple[datetime, int] | None = None
    for _ in range(MOST_ROWS // _BATCH):
        later = (
            Q() if after is None else Q(opened_at__gt=after[0]) | Q(opened_at=after[0], ticket__gt=after[1])
        )
        batch = list(cases.filter(later).select_related("merchant").order_by("opened_at", "ticket")[:_BATCH])
        yield from _rows(batch, reviewer, now)
        if len(batch) < _BATCH:
            return
        after = (batch[-1].opened_at, batch[-1].ticket)


def _cases_of(reviewer: Reviewer) -> QuerySet[ReviewCase]:
    return ReviewCase.objects.filter(merchant_id__in=reviewer.merchant_ids)


def _filtered(
    cases: QuerySet[ReviewCase], wanted: QueueFilter, reviewer: Reviewer, now: datetime
) -> QuerySet[ReviewCase]:
    if wanted.kind:
        cases = cases.filter(kind=wanted.kind)
    if wanted.whose == "mine":
        cases = cases.filter(claimed_by=f"user:{reviewer.user_id}", claimed_until__gt=now)
    elif wanted.whose == "unclaimed":
        cases = cases.filter(Q(claimed_until__isnull=True) | Q(claimed_until__lte=now))
    elif wanted.whose == "overdue":
        cases = cases.filter(due_at__lte=now)
    if wanted.text:
        cases = cases.filter(_matching(wanted.text))
    return cases


def _matching(text: str) -> Q:
    """Match a ticket, an order number, a reference as people type it, or a workflow or operation id."""
    number = text.strip().removeprefix("#")
    workflows = RefundWorkflow.objects.filter(
        Q(order__number=number)
        | Q(reference=normalise_reference(text) or "")
        | Q(pk=number)
        | Q(operations__pk=number)
    )
    found = Q(subject_id__in=workflows.values("pk"))
    return found | Q(ticket=int(number)) if number.isascii() and number.isdigit() else found


def _rows(cases: Iterable[ReviewCase], reviewer: Reviewer, now: datetime) -> tuple[QueueRow, ...]:
    cases = tuple(cases)
    subjects = [case.subject_id for case in cases]
    if not subjects:
        return ()
    requests = RefundWorkflow.objects.select_related("order").annotate(is_proposed=_proposed())
    workflows = requests.in_bulk(subjects)
    books = book_subjects(subject for subject in subjects if subject not in workflows)
    pending = {
        approval.subject_id: approval
        for approval in ApprovalRequest.objects.filter(
            subject_id__in=subjects, state=ApprovalState.PENDING
        ).annotate(votes=Count("events", filter=~Q(events__voter_id="")))
    }
    names = names_of(case.claimed_by for case in cases)
    return tuple(
        _row(
            case,
            workflows.get(case.subject_id),
            books.get(case.subject_id, BookSubject("", "")),
            pending.get(case.subject_id),
            lease=lease_of(case, user_id=reviewer.user_id, names=names, now=now),
            now=now,
        )
        for case in cases
    )


def _proposed() -> Exists:
    """Say of a workflow whether giving up an operation of it is proposed and not decided yet."""
    waiting = ApprovalRequest.objects.filter(
        subject_kind=SubjectKind.EVIDENCE, subject_id=OuterRef("pk"), state=ApprovalState.PENDING
    )
    return Exists(RefundOperation.objects.filter(Exists(waiting), workflow_id=OuterRef("pk")))


def _row(
    case: ReviewCase,
    workflow: RefundWorkflow | None,
    books: BookSubject,
    approval: ApprovalRequest | None,
    *,
    lease: Lease | None,
    now: datetime,
) -> QueueRow:
    return QueueRow(
        ticket=case.ticket,
        kind=case.kind,
        reason=case.reason,
        opened_at=case.opened_at,
        waiting=now - case.opened_at,
        merchant_name=case.merchant.name,
        order_number=workflow.order.number if workflow and workflow.order else books.order_number,
        reference=workflow.reference if workflow else "",
        state=str(workflow.state) if workflow else "",
        amount=_amount(workflow) if workflow else books.amount,
        amount_minor_units=workflow.amount_minor_units if workflow else None,
        currency=workflow.currency if workflow else "",
        votes=getattr(approval, "votes", 0),
        approvals_needed=approval.approvals_needed if approval else 0,
        proposed=getattr(workflow, "is_proposed", False),
        promise=promise_of(case, now),
        lease=lease,
    )


def _amount(workflow: RefundWorkflow) -> str:
    amount = workflow.amount_minor_units
    return "" if amount is None else money_text(amount, workflow.currency)


def _last_closed(reviewer: Reviewer) -> ClosedCase | None:
    found = (
        _cases_of(reviewer)
        .filter(closed_at__isnull=False)
        .order_by("-closed_at")
        .values_list("ticket", "closed_at")
        .first()
    )
    return ClosedCase(ticket=found[0], closed_at=found[1]) if found and found[1] else None
