"""Work on a case: claim it, give it back, and what people do with a request that they own.

Nothing here decides: a POST is one call to ``refunds.pipeline``, and what that refuses is shown as a sentence.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from ledger.clock import now_utc
from ledger.transitions import TransitionRefusedError
from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.console import wording
from refunds.console.access import may_approve, staff_only
from refunds.console.actions import why_not, work_on
from refunds.console.pages import UNPROCESSABLE, case_or_404, case_page, page
from refunds.console.work_forms import CloseCompletedForm, CloseForm, LookUpForm, RebuildForm, WorkForm
from refunds.nudges import Nudge
from refunds.selectors.review_records import CaseEvidence, Reviewer
from refunds.tasks import send_nudges


@dataclass(frozen=True, slots=True)
class _Kind:
    """One action: its form, its sentences, and the call that does it."""

    form: type[forms.Form]
    title: str
    button: str
    effect: str
    done: str
    call: Callable[[CaseAction, dict[str, Any]], tuple[Nudge, ...]]


def _read_again(action: CaseAction, _entered: dict[str, Any]) -> tuple[Nudge, ...]:
    return pipeline.read_evidence_again(action=action, now=now_utc())


def _rebuild(action: CaseAction, _entered: dict[str, Any]) -> tuple[Nudge, ...]:
    pipeline.rebuild_command(action=action, now=now_utc())
    return ()


def _close(action: CaseAction, entered: dict[str, Any]) -> tuple[Nudge, ...]:
    return pipeline.close_without_refund(action=action, outcome=entered["outcome"], now=now_utc())


def _close_completed(action: CaseAction, _entered: dict[str, Any]) -> tuple[Nudge, ...]:
    return pipeline.close_as_completed(action=action, now=now_utc())


_KINDS: Final = {
    "read-again": _Kind(
        form=WorkForm,
        title="Read the evidence again?",
        button="Read the evidence again",
        effect="Policy and payment records are read anew, and the request goes on from there. "
        "Whatever comes of it, a person decides before anything is sent.",
        done="The evidence is being read again. The request left this queue until it needs a person.",
        call=_read_again,
    ),
    "rebuild": _Kind(
        form=RebuildForm,
        title="Rebuild the command from facts?",
        button="Put the rebuilt command before others",
        effect="The records are read now, and a command is built from them alone. It is refused unless they prove "
        "that a refund is due. You are its maker, so others must approve it.",
        done="The rebuilt command waits for approval by others.",
        call=_rebuild,
    ),
    "close": _Kind(
        form=CloseForm,
        title="Close without a refund?",
        button="Close without a refund",
        effect="The request ends, nothing is sent, and the customer is told.",
        done="Closed without a refund.",
        call=_close,
    ),
    "close-completed": _Kind(
        form=CloseCompletedForm,
        title="Close as completed?",
        button="Close as completed",
        effect="The request ends as completed, nothing is sent, and the customer is told which refunds were made.",
        done="Closed as completed.",
        call=_close_completed,
    ),
}


@require_POST
@staff_only
def claim(request: HttpRequest, reviewer: Reviewer, ticket: int) -> HttpResponse:
    """Lend the case to the reviewer, renew their lease, or take it over once a colleague's ran out."""
    found = workable(reviewer, ticket)
    if barred := work_on(reviewer, found, now=now_utc()).barred:
        return refused_page(request, reviewer, found, barred)
    action = CaseAction(ticket=ticket, staff_user_id=reviewer.user_id)
    try:
        held = pipeline.claim_case(action=action, now=now_utc())
    except CaseWorkRefusedError as refused:
        return refused_page(request, reviewer, found, refused.code)
    messages.success(request, f"Ticket #{held} is yours for the next 20 minutes.")
    return redirect("console:case", ticket=held)


@require_POST
@staff_only
def release(request: HttpRequest, reviewer: Reviewer, ticket: int) -> HttpResponse:
    """Give the case back."""
    found = workable(reviewer, ticket)
    try:
        pipeline.release_case(action=CaseAction(ticket=ticket, staff_user_id=reviewer.user_id), now=now_utc())
    except CaseWorkRefusedError as refused:
        return refused_page(request, reviewer, found, refused.code)
    messages.success(request, f"Ticket #{ticket} is free for everybody again.")
    return redirect("console:queue")


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def do(request: HttpRequest, reviewer: Reviewer, ticket: int, name: str) -> HttpResponse:
    """Confirm and do one action on the request that the case is about."""
    found, kind = workable(reviewer, ticket), _KINDS[name]
    barred = why_not(reviewer, found, name, now=now_utc())
    if barred:
        return refused_page(request, reviewer, found, barred)
    if request.method != "POST":
        return _confirm_page(request, found, kind, kind.form())
    form = kind.form(request.POST)
    if not form.is_valid():
        return _confirm_page(request, found, kind, form, status=UNPROCESSABLE)
    action = CaseAction(
        ticket=ticket,
        staff_user_id=reviewer.user_id,
        reason_code=form.cleaned_data["reason_code"],
        note=form.cleaned_data["note"],
    )
    try:
        send_nudges(kind.call(action, form.cleaned_data))
    except CaseWorkRefusedError as refused:
        return refused_page(request, reviewer, case_or_404(reviewer, ticket), refused.code)
    except TransitionRefusedError:
        return refused_page(request, reviewer, case_or_404(reviewer, ticket), "NOT_IN_REVIEW")
    messages.success(request, kind.done)
    return redirect("console:case", ticket=ticket)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def look_up(request: HttpRequest, reviewer: Reviewer, ticket: int, operation_id: str) -> HttpResponse:
    """Confirm, and have the provider asked about one operation; nothing is sent by it."""
    found = workable(reviewer, ticket)
    operation = next((o for o in found.operations if o.operation_id == operation_id), None)
    if operation is None:
        raise Http404
    if operation_id not in work_on(reviewer, found, now=now_utc()).look_ups:
        return refused_page(
            request, reviewer, found, work_on(reviewer, found, now=now_utc()).barred or "NOTHING_TO_LOOK_UP"
        )
    if request.method != "POST":
        return page(
            request,
            "console/look_up.html",
            title=f"Check the refund of {operation.amount} again?",
            case=found,
            operation=operation,
            form=LookUpForm(),
        )
    try:
        send_nudges(
            pipeline.look_up_again(operation_id=operation_id, staff_user_id=reviewer.user_id, now=now_utc())
        )
    except CaseWorkRefusedError as refused:
        return refused_page(request, reviewer, found, refused.code)
    messages.success(
        request,
        "The provider is being asked again. "
        "Reload this page to see what it says; if nothing is there after a minute, ask again.",
    )
    return redirect("console:case", ticket=ticket)


def workable(reviewer: Reviewer, ticket: int) -> CaseEvidence:
    """Return a case that the reviewer may work on: 404 for one that is none of theirs, 403 for reading alone."""
    found = case_or_404(reviewer, ticket)
    if not may_approve(reviewer, found):
        raise PermissionDenied
    return found


def refused_page(request: HttpRequest, reviewer: Reviewer, found: CaseEvidence, code: str) -> HttpResponse:
    """Show the case and why something was not done with it."""
    return case_page(request, reviewer, found, refused=wording.why_not_done(code), code=code)


def _confirm_page(
    request: HttpRequest, found: CaseEvidence, kind: _Kind, form: forms.Form, *, status: int = 200
) -> HttpResponse:
    return page(
        request,
        "console/work.html",
        status=status,
        title=kind.title,
        button=kind.button,
        effect=kind.effect,
        case=found,
        form=form,
    )
