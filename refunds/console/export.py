"""The queue as a file, for people who plan their work in a spreadsheet."""

from collections.abc import Iterator
from typing import Final

from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_safe

from ledger.clock import now_utc
from ledger.spreadsheets import Cell, csv_lines
from refunds.console import wording
from refunds.console.access import staff_only
from refunds.console.forms import QueueFilterForm
from refunds.selectors.review import all_rows
from refunds.selectors.review_records import QueueRow, Reviewer

_HEADER: Final = (
    *("Ticket", "Opened (UTC)", "Kind", "Why a person is needed", "Merchant", "Order", "Reference"),
    *("State", "Amount", "Amount in minor units", "Currency", "Votes", "Approvals needed", "Claimed by"),
)


@require_safe
@staff_only
def queue_file(request: HttpRequest, reviewer: Reviewer) -> StreamingHttpResponse:
    """Return the queue that the page shows with the same filters, every page of it, as CSV."""
    wanted, now = QueueFilterForm(request.GET).wanted(), now_utc()
    rows = all_rows(reviewer=reviewer, wanted=wanted, now=now)
    response = StreamingHttpResponse(csv_lines(_HEADER, _cells(rows)), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="review-queue-{now:%Y-%m-%d}.csv"'
    return response


def _cells(rows: Iterator[QueueRow]) -> Iterator[tuple[Cell, ...]]:
    for row in rows:
        yield (
            *(row.ticket, row.opened_at, row.kind, wording.why_a_person(row.reason), row.merchant_name),
            *(row.order_number, row.reference, row.state, row.amount, row.amount_minor_units, row.currency),
            *(row.votes, row.approvals_needed, wording.claimed_text(row.lease)),
        )
