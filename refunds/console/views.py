"""The review console's pages: the queue, one case with its evidence, and a decision on its exact command.

Nothing here decides: a POST is one call to ``refunds.pipeline.decide``, and what that refuses is shown as a sentence.
"""

from dataclasses import dataclass
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from approvals.services import DecisionRefusedError
from ledger.clock import now_utc
from ledger.transitions import TransitionRefusedError
from refunds.console import wording
from refunds.console.access import may_approve, staff_only, why_no_decision
from refunds.console.books import book_case_page
from refunds.console.forms import ApproveForm, DecisionForm, QueueFilterForm, RejectForm
from refunds.console.pages import UNPROCESSABLE, case_or_404, case_page, page, page_number
from refunds.pipeline import decide
from refunds.selectors.review import list_queue
from refunds.selectors.review_case import get_case
from refunds.selectors.review_records import ApprovalFacts, CaseEvidence, QueueRow, Reviewer
from refunds.tasks import send_nudges

_FORMS: Final[dict[str, type[DecisionForm]]] = {"approve": ApproveForm, "reject": RejectForm}


@dataclass(frozen=True, slots=True)
class QueueLine:
    """One row of the queue with its sentences."""

    row: QueueRow
    why: str
    waiting: str
    due: str
    claimed: str


@require_safe
@staff_only
def queue(request: HttpRequest, reviewer: Reviewer) -> HttpResponse:
    """Show the open cases of the reviewer's merchants, oldest first."""
    form = QueueFilterForm(request.GET)
    wanted = form.wanted()
    listed = list_queue(reviewer=reviewer, wanted=wanted, page=page_number(request), now=now_utc())
    query = {"kind": wanted.kind, "whose": wanted.whose, "q": wanted.text} if wanted.is_set else {}
    return page(
        request,
        "console/queue.html",
        title="Review queue",
        form=form,
        filtered=wanted.is_set,
        page=listed,
        lines=[
            QueueLine(
                row,
                wording.why_a_person(row.reason),
                wording.waiting_text(row.waiting),
                wording.due_text(row.promise),
                wording.claimed_text(row.lease),
            )
            for row in listed.rows
        ],
        filter_query=urlencode(query),
    )


@require_safe
@staff_only
def case(request: HttpRequest, reviewer: Reviewer, ticket: int) -> HttpResponse:
    """Show one case with its evidence; a case about the books, which has no request, has a page of its own."""
    found = get_case(reviewer=reviewer, ticket=ticket, now=now_utc())
    if found is None:
        return book_case_page(request, reviewer, ticket)
    return case_page(request, reviewer, found)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def decide_case(request: HttpRequest, reviewer: Reviewer, ticket: int, decision: str) -> HttpResponse:
    """Confirm and record one decision; ``?seen=`` is the fingerprint that the case page showed."""
    found = case_or_404(reviewer, ticket)
    if not may_approve(reviewer, found):
        raise PermissionDenied
    if request.method == "POST":
        return _take_decision(request, reviewer, found, decision)
    return _ask_to_confirm(request, reviewer, found, decision)


def _ask_to_confirm(
    request: HttpRequest, reviewer: Reviewer, found: CaseEvidence, decision: str
) -> HttpResponse:
    approval = found.approval
    if approval is None or why_no_decision(reviewer, found):
        return redirect("console:case", ticket=found.ticket)
    if request.GET.get("seen", approval.fingerprint) != approval.fingerprint:
        return _refused(request, reviewer, found, "FINGERPRINT_CHANGED")
    form = _FORMS[decision](initial={"fingerprint": approval.fingerprint})
    return _confirm_page(request, found, approval, decision, form)


def _take_decision(
    request: HttpRequest, reviewer: Reviewer, found: CaseEvidence, decision: str
) -> HttpResponse:
    approval, barred = found.approval, why_no_decision(reviewer, found)
    if approval is None or barred:
        return _refused(request, reviewer, found, barred or "NOT_PENDING")
    form = _FORMS[decision](request.POST)
    if not form.is_valid():
        return _confirm_page(request, found, approval, decision, form, status=UNPROCESSABLE)
    refused = _decide(reviewer, approval, decision, form.cleaned_data)
    if refused:
        return _refused(request, reviewer, case_or_404(reviewer, found.ticket), refused)
    messages.success(request, wording.recorded_text(found, decision=decision))
    return redirect("console:case", ticket=found.ticket)


def _decide(reviewer: Reviewer, approval: ApprovalFacts, decision: str, entered: dict[str, Any]) -> str:
    """Record the decision; return the code of a refusal, or an empty text."""
    try:
        nudges = decide(
            approval_id=approval.approval_id,
            decision=decision,
            staff_user_id=reviewer.user_id,
            fingerprint=entered["fingerprint"],
            reason_code=entered["reason_code"],
            note=entered["note"],
            now=now_utc(),
        )
    except DecisionRefusedError as refused:
        return refused.code
    except TransitionRefusedError:
        return "NOT_PENDING"
    send_nudges(nudges)
    return ""


def _refused(request: HttpRequest, reviewer: Reviewer, found: CaseEvidence, code: str) -> HttpResponse:
    return case_page(request, reviewer, found, refused=wording.why_refused(code), code=code)


def _confirm_page(
    request: HttpRequest,
    found: CaseEvidence,
    approval: ApprovalFacts,
    decision: str,
    form: DecisionForm,
    *,
    status: int = 200,
) -> HttpResponse:
    verb = "Approve" if decision == "approve" else "Reject"
    return page(
        request,
        "console/decide.html",
        status=status,
        title=f"{verb} refund of {approval.amount}?",
        button=f"{verb} refund of {approval.amount}",
        case=found,
        approval=approval,
        approving=decision == "approve",
        effect=wording.effect_of_approving(approval)
        if decision == "approve"
        else "The request is closed as rejected, and nothing is sent.",
        form=form,
    )
