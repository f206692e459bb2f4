"""The pages of house texts: the list, an upload, one text, and a decision about exactly what it says.

A POST is one call to ``refunds.casework.house_texts``, and what that refuses is shown as a sentence.
"""

from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from ledger.clock import now_utc
from policies.document_text import DocumentRefusedError
from policies.states import DocumentState
from refunds.casework.house_texts import Upload, decide_text, retire_text, upload_text
from refunds.casework.refusals import KnowledgeRefusedError
from refunds.console import house_text_wording as wording
from refunds.console.access import staff_only
from refunds.console.house_text_forms import RejectTextForm, TextNoteForm, UploadForm
from refunds.console.pages import CONFLICT, FORBIDDEN, UNPROCESSABLE, page, page_number
from refunds.selectors.house_texts import HouseText, get_text, list_texts, may_upload_for
from refunds.selectors.review_records import Reviewer


@dataclass(frozen=True, slots=True)
class _Act:
    """One action on a text: its form and its sentences."""

    form: type[TextNoteForm]
    verb: str
    effect: str
    done: str


_ACTS: Final = {
    "approve": _Act(
        TextNoteForm,
        "Approve",
        "From now on its paragraphs may be given to a model, as data, with cases of this merchant that they are "
        "about. They decide nothing.",
        "Approved: the text is in use.",
    ),
    "reject": _Act(
        RejectTextForm, "Reject", "It is never given to a model.", "Rejected: the text is never used."
    ),
    "retire": _Act(
        TextNoteForm,
        "Retire",
        "It is given to no model any more. It stays readable, since proposals name it.",
        "Retired: the text is not used any more.",
    ),
}


@require_safe
@staff_only
def texts(request: HttpRequest, reviewer: Reviewer) -> HttpResponse:
    """Show the texts of the reviewer's merchants: what waits first."""
    listed = list_texts(reviewer=reviewer, page=page_number(request))
    return page(
        request,
        "console/house_texts.html",
        title="House texts",
        page=listed,
        lines=[(row, wording.state_text(row.state)) for row in listed.rows],
        may_upload=bool(reviewer.approves_for),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def upload(request: HttpRequest, reviewer: Reviewer) -> HttpResponse:
    """Take a text that a second person must approve."""
    if not reviewer.approves_for:
        raise PermissionDenied
    merchants = may_upload_for(reviewer)
    if request.method != "POST":
        return _upload_page(request, UploadForm(merchants=merchants))
    form = UploadForm(request.POST, merchants=merchants)
    if not form.is_valid():
        return _upload_page(request, form, status=UNPROCESSABLE)
    entered = form.cleaned_data
    asked = Upload(
        merchant_id=int(entered["merchant"]),
        staff_user_id=reviewer.user_id,
        title=entered["title"],
        body=entered["body"],
        language=entered["language"],
        metadata=entered["metadata"],
    )
    try:
        stored = upload_text(asked, now=now_utc())
    except DocumentRefusedError as refused:
        form.add_error(refused.field, refused.text)
        return _upload_page(request, form, status=UNPROCESSABLE)
    except KnowledgeRefusedError as refused:
        form.add_error("body", wording.why_refused(refused.code))
        return _upload_page(request, form, status=FORBIDDEN if refused.code == "NOT_ALLOWED" else CONFLICT)
    messages.success(request, "Saved. Nobody is given this text until another person approved it.")
    if told := wording.told_of_ignored(stored.ignored):
        messages.warning(request, told)
    return redirect("console:house-text", document_id=stored.document_id)


@require_safe
@staff_only
def text(request: HttpRequest, reviewer: Reviewer, document_id: str) -> HttpResponse:
    """Show one text with its history."""
    return _text_page(request, reviewer, _text_or_404(reviewer, document_id))


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def act(request: HttpRequest, reviewer: Reviewer, document_id: str, name: str) -> HttpResponse:
    """Confirm and record one decision about a text."""
    found = _text_or_404(reviewer, document_id)
    if found.merchant_id not in reviewer.approves_for:
        raise PermissionDenied
    if barred := _why_not(reviewer, found, name):
        return _text_page(request, reviewer, found, refused=barred)
    kind = _ACTS[name]
    if request.method != "POST":
        return _confirm_page(request, found, name, kind.form(initial={"fingerprint": found.fingerprint}))
    form = kind.form(request.POST)
    if not form.is_valid():
        return _confirm_page(request, found, name, form, status=UNPROCESSABLE)
    try:
        _do(reviewer, found, name, form.cleaned_data)
    except KnowledgeRefusedError as refused:
        return _text_page(request, reviewer, _text_or_404(reviewer, document_id), refused=refused.code)
    messages.success(request, kind.done)
    return redirect("console:house-text", document_id=document_id)


def _do(reviewer: Reviewer, found: HouseText, name: str, entered: dict[str, Any]) -> None:
    about: dict[str, Any] = {
        "document_id": found.document_id,
        "staff_user_id": reviewer.user_id,
        "note": entered["note"],
        "now": now_utc(),
    }
    if name == "retire":
        retire_text(**about)
    else:
        decide_text(approve=name == "approve", fingerprint=entered["fingerprint"], **about)


def _why_not(reviewer: Reviewer, found: HouseText, name: str) -> str:
    """Return the code that keeps the reviewer from an action now, or an empty text; casework asks it all again."""
    if found.merchant_id not in reviewer.approves_for:
        return "NOT_ALLOWED"
    if name == "retire":
        return "" if found.state == DocumentState.ACTIVE else "NOT_ACTIVE"
    if found.state != DocumentState.UPLOADED:
        return "NOT_PENDING"
    return "OWN_REQUEST" if found.by_reviewer else ""


def _text_or_404(reviewer: Reviewer, document_id: str) -> HouseText:
    """Return a text; alike for a missing one and one of another merchant: 404."""
    found = get_text(reviewer=reviewer, document_id=document_id)
    if found is None:
        raise Http404
    return found


def _text_page(
    request: HttpRequest, reviewer: Reviewer, found: HouseText, *, refused: str = ""
) -> HttpResponse:
    offered = "retire" if found.state == DocumentState.ACTIVE else "approve"
    ended = found.state in {DocumentState.REJECTED, DocumentState.RETIRED}
    return page(
        request,
        "console/house_text.html",
        status=CONFLICT if refused else 200,
        title=found.title,
        text=found,
        state=wording.state_text(found.state),
        events=[(event, wording.state_text(event.to_state)) for event in found.events],
        offered="" if ended else offered,
        barred="" if ended else wording.why_not(_why_not(reviewer, found, offered)),
        refused=wording.why_refused(refused) if refused else "",
    )


def _confirm_page(
    request: HttpRequest, found: HouseText, name: str, form: forms.Form, *, status: int = 200
) -> HttpResponse:
    kind = _ACTS[name]
    return page(
        request,
        "console/house_text_act.html",
        status=status,
        title=f"{kind.verb} this text?",
        verb=kind.verb,
        effect=kind.effect,
        main=name != "reject",
        text=found,
        form=form,
    )


def _upload_page(request: HttpRequest, form: UploadForm, *, status: int = 200) -> HttpResponse:
    return page(
        request, "console/house_text_upload.html", status=status, title="Upload a house text", form=form
    )
