"""The pages of a case about the books: what each book says, and how a person closes it."""

from typing import Final

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from ledger.clock import now_utc
from refunds.casework.about_books import settle_book_case
from refunds.casework.owned_case import CaseAction
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.console import wording
from refunds.console.access import staff_only
from refunds.console.books_wording import (
    EXPLAIN_EFFECT,
    EXPLAINED_REASONS,
    RELEASE_EFFECT,
    RELEASE_REASONS,
)
from refunds.console.pages import CONFLICT, FORBIDDEN, UNPROCESSABLE, page
from refunds.console.work_forms import WorkForm
from refunds.selectors.review_books import BookCase, get_book_case
from refunds.selectors.review_records import Reviewer

_BOOKS: Final = {"ours": "Our books", "provider": "The provider's list", "settlement": "Settlement reports"}


class BooksForm(WorkForm):
    """Why a case about the books is done, with the digest of what they said when the reviewer looked."""

    seen = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)


class ExplainForm(BooksForm):
    """Why the books differ."""

    reasons = EXPLAINED_REASONS


class ReleaseForm(BooksForm):
    """Why refunds of the payment may go on."""

    reasons = RELEASE_REASONS


def book_case_page(
    request: HttpRequest, reviewer: Reviewer, ticket: int, *, refused: str = "", code: str = ""
) -> HttpResponse:
    """Show one case about the books, or 404 where there is none such for this reviewer."""
    found = _case_or_404(reviewer, ticket)
    status = (FORBIDDEN if code == "NOT_ALLOWED" else CONFLICT) if refused else 200
    return page(
        request,
        "console/books_case.html",
        status=status,
        title=_title(found),
        case=found,
        why=wording.why_a_person(found.reason),
        waiting=wording.waiting_text(found.waiting),
        due=wording.due_text(found.promise),
        books=[(_BOOKS.get(book, book.replace("_", " ").title()), lines) for book, lines in found.books],
        barred=wording.why_not_possible(_why_not(reviewer, found)),
        button=_button(found),
        refused=refused,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def settle(request: HttpRequest, reviewer: Reviewer, ticket: int) -> HttpResponse:
    """Confirm and record what a person found out: it closes the case, and moves no money.

    ``?seen=`` is the digest of what the case page showed of the books.
    """
    found = _case_or_404(reviewer, ticket)
    if found.merchant_id not in reviewer.approves_for:
        raise PermissionDenied
    barred = _why_not(reviewer, found)
    if not barred and request.GET.get("seen", found.facts_sha256) != found.facts_sha256:
        barred = "BOOKS_CHANGED"
    if barred:
        return _refused(request, reviewer, ticket, barred)
    form_class = ReleaseForm if found.frozen else ExplainForm
    if request.method != "POST":
        return _confirm(request, found, form_class(initial={"seen": found.facts_sha256}))
    form = form_class(request.POST)
    if not form.is_valid():
        return _confirm(request, found, form, status=UNPROCESSABLE)
    action = CaseAction(
        ticket=ticket,
        staff_user_id=reviewer.user_id,
        reason_code=form.cleaned_data["reason_code"],
        note=form.cleaned_data["note"],
    )
    try:
        settle_book_case(action, seen=form.cleaned_data["seen"], now=now_utc())
    except CaseWorkRefusedError as refused:
        return _refused(request, reviewer, ticket, refused.code)
    messages.success(
        request, "The payment is released." if found.frozen else "The difference is recorded as explained."
    )
    return redirect("console:case", ticket=ticket)


def _confirm(request: HttpRequest, found: BookCase, form: WorkForm, *, status: int = 200) -> HttpResponse:
    return page(
        request,
        "console/books_work.html",
        status=status,
        title=f"{_button(found)}?",
        button=_button(found),
        effect=RELEASE_EFFECT if found.frozen else EXPLAIN_EFFECT,
        case=found,
        why=wording.why_a_person(found.reason),
        form=form,
    )


def _refused(request: HttpRequest, reviewer: Reviewer, ticket: int, code: str) -> HttpResponse:
    return book_case_page(request, reviewer, ticket, refused=wording.why_not_done(code), code=code)


def _why_not(reviewer: Reviewer, found: BookCase) -> str:
    """Return the code that keeps the reviewer from closing the case, or an empty text."""
    if found.closed_at is not None:
        return "CASE_CLOSED"
    if found.merchant_id not in reviewer.approves_for:
        return "NOT_ALLOWED"
    return "OWN_REQUEST" if found.about_reviewer else ""


def _button(found: BookCase) -> str:
    return "Release the payment" if found.frozen else "Close as explained"


def _title(found: BookCase) -> str:
    order = f" · order #{found.order_number}" if found.order_number else ""
    return f"Ticket #{found.ticket}{order} · {found.payment_reference or 'payment not held here'}"


def _case_or_404(reviewer: Reviewer, ticket: int) -> BookCase:
    found = get_book_case(reviewer=reviewer, ticket=ticket, now=now_utc())
    if found is None:
        raise Http404
    return found
