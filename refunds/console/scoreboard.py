"""The invariant scoreboard, for whoever operates the desk: it shows rows of every merchant, so superusers alone."""

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from ledger.clock import now_utc
from refunds.console.pages import page
from refunds.selectors.books_board import compared_books, frozen_payments
from refunds.selectors.scoreboard import CAP, ask_invariants


@require_safe
@never_cache
def scoreboard(request: HttpRequest) -> HttpResponse:
    """Ask every invariant now and show what was found; nothing is recorded by looking."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if not (request.user.is_staff and request.user.is_superuser):
        raise PermissionDenied
    results = ask_invariants()
    broken = sum(not result.holds for result in results)
    return page(
        request,
        "console/scoreboard.html",
        title="Invariants",
        results=results,
        broken=broken,
        cap=CAP,
        books=compared_books(),
        frozen=frozen_payments(),
        asked_at=now_utc(),
    )
