"""Work on one operation that nothing proves: give the provider's reference, or have two people give it up.

Nothing here decides: a POST is one call to ``refunds.pipeline``, and what that refuses is shown as a sentence.
"""

from datetime import datetime

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from approvals.services import DecisionRefusedError
from ledger.clock import now_utc
from ledger.transitions import TransitionRefusedError
from refunds import pipeline
from refunds.casework.cancelling import an_answer_warns
from refunds.casework.owned_case import CaseAction
from refunds.casework.provider_evidence import ProviderStatement
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.console.access import staff_only
from refunds.console.actions import operation_work, work_on
from refunds.console.operation_forms import CancelForm, ConfirmForm, DeclineForm, ProposalForm, ReferenceForm
from refunds.console.operation_wording import OF_A_PROPOSAL, source_text, statement_text
from refunds.console.pages import UNPROCESSABLE, case_or_404, page
from refunds.console.work import refused_page, workable
from refunds.evidence.given import GIVEN
from refunds.selectors.review_records import CaseEvidence, OperationFacts, ProposalAboutOperation, Reviewer
from refunds.tasks import send_nudges


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def reference(request: HttpRequest, reviewer: Reviewer, ticket: int, operation_id: str) -> HttpResponse:
    """Take the provider's id of a refund, and have it looked up."""
    found, now = workable(reviewer, ticket), now_utc()
    operation = _operation(found, operation_id)
    work = work_on(reviewer, found, now=now)
    line = operation_work(work, operation_id)
    if barred := work.barred or (line.reference_barred if line else "NOT_WITH_PEOPLE"):
        return refused_page(request, reviewer, found, barred)
    form = ReferenceForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid():
        return _ask(request, found, operation, form, template="console/reference.html")
    action = _action(reviewer, ticket, reason_code=GIVEN, note=form.cleaned_data["note"])
    try:
        nudges = pipeline.give_reference(
            action=action, operation_id=operation_id, reference=form.cleaned_data["reference"], now=now
        )
    except CaseWorkRefusedError as refused:
        return refused_page(request, reviewer, case_or_404(reviewer, ticket), refused.code)
    send_nudges(nudges)
    messages.success(
        request,
        "The provider is being asked about it. "
        "Reload this page to see what it says; if nothing is there after a minute, ask again.",
    )
    return redirect("console:case", ticket=ticket)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def propose(request: HttpRequest, reviewer: Reviewer, ticket: int, operation_id: str) -> HttpResponse:
    """Propose to give an operation up, with the provider's evidence that it was never executed."""
    found, now = workable(reviewer, ticket), now_utc()
    operation = _operation(found, operation_id)
    if barred := _why_not_proposed(reviewer, found, operation_id, now):
        return refused_page(request, reviewer, found, barred)
    form = CancelForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid():
        return _ask(request, found, operation, form, template="console/give_up.html")
    entered = form.cleaned_data
    statement = ProviderStatement(
        source=entered["source"],
        seen_at=entered["seen_at"],
        provider_reference=entered["provider_reference"],
        words=entered["words"],
    )
    action = _action(reviewer, ticket, reason_code=entered["reason_code"], note=entered["note"])
    try:
        pipeline.propose_cancellation(action=action, operation_id=operation_id, found=statement, now=now)
    except CaseWorkRefusedError as refused:
        if form.takes(refused.code):
            return _ask(request, found, operation, form, template="console/give_up.html")
        return refused_page(request, reviewer, case_or_404(reviewer, ticket), refused.code)
    messages.success(
        request,
        f"Proposed: give up the refund of {operation.amount}. It stays reserved until a second person confirms.",
    )
    return redirect("console:case", ticket=ticket)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def decide(
    request: HttpRequest, reviewer: Reviewer, ticket: int, approval_id: str, decision: str
) -> HttpResponse:
    """Confirm or decline a colleague's proposal; ``?seen=`` is the fingerprint that the case page showed."""
    found, now = workable(reviewer, ticket), now_utc()
    operation, proposal = _proposal(found, approval_id)
    if barred := _why_not_decided(reviewer, found, operation, proposal, now):
        return refused_page(request, reviewer, found, barred)
    if request.GET.get("seen", proposal.fingerprint) != proposal.fingerprint:
        return refused_page(request, reviewer, found, "PROPOSAL_CHANGED")
    kind: type[ProposalForm] = ConfirmForm if decision == "approve" else DeclineForm
    form = (
        kind(request.POST)
        if request.method == "POST"
        else kind(initial={"fingerprint": proposal.fingerprint})
    )
    if request.method != "POST" or not form.is_valid():
        return _ask_to_decide(request, found, operation, proposal, form, confirming=decision == "approve")
    refused = _decide(reviewer, proposal, decision, form, now)
    if refused:
        return refused_page(request, reviewer, case_or_404(reviewer, ticket), refused)
    done = "Given up" if decision == "approve" else "Declined, and nothing changed"
    messages.success(request, f"{done}: the refund of {operation.amount}.")
    return redirect("console:case", ticket=ticket)


def _decide(
    reviewer: Reviewer, proposal: ProposalAboutOperation, decision: str, form: ProposalForm, now: datetime
) -> str:
    """Record the decision; return the code of a refusal, or an empty text."""
    try:
        nudges = pipeline.decide_cancellation(
            approval_id=proposal.approval_id,
            decision=decision,
            staff_user_id=reviewer.user_id,
            fingerprint=form.cleaned_data["fingerprint"],
            reason_code=form.cleaned_data["reason_code"],
            note=form.cleaned_data["note"],
            now=now,
        )
    except DecisionRefusedError as refused:
        return OF_A_PROPOSAL.get(refused.code, refused.code)
    except CaseWorkRefusedError as refused:
        return refused.code
    except TransitionRefusedError:
        return "PROPOSAL_OVER"
    send_nudges(nudges)
    return ""


def _why_not_proposed(reviewer: Reviewer, found: CaseEvidence, operation_id: str, now: datetime) -> str:
    work = work_on(reviewer, found, now=now)
    line = operation_work(work, operation_id)
    barred = work.barred or (line.cancel_barred if line else "NOT_WITH_PEOPLE")
    return barred or pipeline.why_not_given_up(operation_id=operation_id, now=now)


def _why_not_decided(
    reviewer: Reviewer,
    found: CaseEvidence,
    operation: OperationFacts,
    proposal: ProposalAboutOperation,
    now: datetime,
) -> str:
    work = work_on(reviewer, found, now=now)
    line = operation_work(work, operation.operation_id)
    if work.barred:
        return work.barred
    if line is None or line.proposal_id != proposal.approval_id:
        return "PROPOSAL_OVER"
    return line.decide_barred


def _operation(found: CaseEvidence, operation_id: str) -> OperationFacts:
    operation = next((o for o in found.operations if o.operation_id == operation_id), None)
    if operation is None:
        raise Http404
    return operation


def _proposal(found: CaseEvidence, approval_id: str) -> tuple[OperationFacts, ProposalAboutOperation]:
    for operation in found.operations:
        for proposal in operation.proposals:
            if proposal.approval_id == approval_id:
                return operation, proposal
    raise Http404


def _action(reviewer: Reviewer, ticket: int, *, reason_code: str, note: str) -> CaseAction:
    return CaseAction(ticket=ticket, staff_user_id=reviewer.user_id, reason_code=reason_code, note=note)


def _ask(
    request: HttpRequest, found: CaseEvidence, operation: OperationFacts, form: forms.Form, *, template: str
) -> HttpResponse:
    what = "Look up a refund of" if template.endswith("reference.html") else "Give up the refund of"
    return page(
        request,
        template,
        status=UNPROCESSABLE if form.is_bound else 200,
        title=f"{what} {operation.amount}?",
        case=found,
        operation=operation,
        answer_warns=an_answer_warns(operation.operation_id),
        form=form,
    )


def _ask_to_decide(
    request: HttpRequest,
    found: CaseEvidence,
    operation: OperationFacts,
    proposal: ProposalAboutOperation,
    form: ProposalForm,
    *,
    confirming: bool,
) -> HttpResponse:
    verb = "Confirm giving up" if confirming else "Decline giving up"
    return page(
        request,
        "console/decide_give_up.html",
        status=UNPROCESSABLE if form.is_bound else 200,
        title=f"{verb} the refund of {operation.amount}?",
        button=f"{verb} the refund of {operation.amount}",
        case=found,
        operation=operation,
        answer_warns=confirming and an_answer_warns(operation.operation_id),
        proposal=proposal,
        states=statement_text(proposal.statement),
        sources=[(source_text(attached.kind), attached) for attached in proposal.attachments],
        confirming=confirming,
        form=form,
    )
