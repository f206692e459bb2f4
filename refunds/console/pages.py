"""What the console's pages share: finding a case, showing it, and showing why something was not done."""

from dataclasses import dataclass
from typing import Any, Final

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from ledger.clock import now_utc
from refunds.console import wording
from refunds.console.access import why_no_decision
from refunds.console.actions import OperationWork, Work, operation_work, work_on
from refunds.console.operation_wording import source_text, statement_text
from refunds.selectors.review_case import get_case
from refunds.selectors.review_records import (
    AttachmentFact,
    CaseEvidence,
    OperationFacts,
    ProposalAboutOperation,
    Reviewer,
)

CONFLICT: Final = 409
FORBIDDEN: Final = 403
UNPROCESSABLE: Final = 422
_MOST_DIGITS: Final = 9  # of a page's number; PostgreSQL counts rows with more


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
    work = work_on(reviewer, found, now=now_utc())
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
        operations=[operation_block(operation, work) for operation in found.operations],
        refused=refused,
    )


@dataclass(frozen=True, slots=True)
class OperationBlock:
    """One operation with the work that it offers; the sentences say why something is not possible now."""

    operation: OperationFacts
    can_look_up: bool
    with_people: bool
    reference_barred: str
    cancel_barred: str
    proposals: tuple["ProposalBlock", ...]


@dataclass(frozen=True, slots=True)
class ProposalBlock:
    """One proposal about an operation, worded; ``decidable`` shows the buttons of the second person."""

    proposal: ProposalAboutOperation
    states: str
    sources: tuple[tuple[str, AttachmentFact], ...]
    decidable: bool
    barred: str


def operation_block(operation: OperationFacts, work: Work) -> OperationBlock:
    """Return one operation of a case as the page shows it."""
    line = operation_work(work, operation.operation_id)
    return OperationBlock(
        operation=operation,
        can_look_up=operation.operation_id in work.look_ups,
        with_people=line is not None,
        reference_barred=wording.why_not_possible(line.reference_barred) if line else "",
        cancel_barred=wording.why_not_possible(line.cancel_barred) if line else "",
        proposals=tuple(_proposal_block(proposal, line) for proposal in operation.proposals),
    )


def _proposal_block(proposal: ProposalAboutOperation, line: OperationWork | None) -> ProposalBlock:
    waits = line is not None and line.proposal_id == proposal.approval_id
    return ProposalBlock(
        proposal=proposal,
        states=statement_text(proposal.statement),
        sources=tuple((source_text(found.kind), found) for found in proposal.attachments),
        decidable=line is not None and waits and not line.decide_barred,
        barred=wording.why_not_possible(line.decide_barred) if line is not None and waits else "",
    )


def title_of(found: CaseEvidence) -> str:
    """Return the case's heading: ticket, order and amount, as far as they are known."""
    order = f" · order #{found.order.number}" if found.order else " · no order given yet"
    amount = f" · {found.amount}" if found.amount else ""
    return f"Ticket #{found.ticket}{order}{amount}"


def page(request: HttpRequest, template: str, *, status: int = 200, **context: Any) -> HttpResponse:
    """Render a page in the admin's frame."""
    return render(request, template, {**admin.site.each_context(request), **context}, status=status)


def page_number(request: HttpRequest) -> int:
    """Return the page of a list that is asked for; what is no number of a page is the first."""
    text = request.GET.get("page", "1")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 1
