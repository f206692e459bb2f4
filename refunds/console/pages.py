"""What the console's pages share: finding a case, showing it, and showing why something was not done."""

from typing import Any, Final

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from ledger.clock import now_utc
from refunds.console import wording
from refunds.console.access import why_no_decision
from refunds.console.actions import work_on
from refunds.selectors.review_case import get_case
from refunds.selectors.review_records import CaseEvidence, Reviewer

CONFLICT: Final = 409
FORBIDDEN: Final = 403
UNPROCESSABLE: Final = 422


def case_or_404(reviewer: Reviewer, ticket: int) -> CaseEvidence:
    """Return the case with its evidence; alike for a missing case and one of another merchant: 404."""
    found = get_case(reviewer=reviewer, ticket=ticket, now=now_utc())
    if found is None:
        raise Http404
    return found


def case_page(
    request: HttpRequest, reviewer: Reviewer, found: CaseEvidence, *, refused: str = "", code: str = ""
) -> HttpResponse:
    """Show one case; ``refused`` is the sentence about what was not done, and ``code`` its reason."""
    work = work_on(reviewer, found)
    status = (FORBIDDEN if code == "NOT_ALLOWED" else CONFLICT) if refused else 200
    return page(
        request,
        "console/case.html",
        status=status,
        title=title_of(found),
        case=found,
        why=[wording.why_a_person(code) for code in found.reasons],
        waiting=wording.waiting_text(found.waiting),
        due=wording.due_text(found.promise),
        barred=wording.why_no_decision(why_no_decision(reviewer, found)),
        work=work,
        work_barred=wording.why_not_possible(work.barred),
        work_lines=[(line, wording.why_not_possible(line.barred)) for line in work.lines],
        refused=refused,
    )


def title_of(found: CaseEvidence) -> str:
    """Return the case's heading: ticket, order and amount, as far as they are known."""
    order = f" · order #{found.order.number}" if found.order else " · no order given yet"
    amount = f" · {found.amount}" if found.amount else ""
    return f"Ticket #{found.ticket}{order}{amount}"


def page(request: HttpRequest, template: str, *, status: int = 200, **context: Any) -> HttpResponse:
    """Render a page in the admin's frame."""
    return render(request, template, {**admin.site.each_context(request), **context}, status=status)
