"""Both books on one page, and what the operator of the demo may let happen at the provider.

Staff see the payments of their own merchants; a superuser sees all, and has the buttons.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from config.demo.provider_page.actions import ACTIONS, About, about
from config.demo.provider_page.comparing import put_beside
from config.demo.provider_page.simulator import NotDoneError, SimulatorDownError, read_book
from ledger.clock import now_utc
from refunds.console.pages import page
from refunds.selectors.review import get_reviewer

_DOWN: Final = 503
_TEMPLATE: Final = "demo/provider.html"
_TITLE: Final = "The provider's book beside ours"

Extra = ParamSpec("Extra")
View = Callable[Concatenate[HttpRequest, Extra], HttpResponse]


def staff_only(view: View[Extra]) -> Callable[..., HttpResponse]:
    """Let in signed-in staff alone."""

    @wraps(view)
    @never_cache
    def guarded(request: HttpRequest, *args: Extra.args, **kwargs: Extra.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        if not request.user.is_staff:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


@require_safe
@staff_only
def books(request: HttpRequest) -> HttpResponse:
    """Show both books; looking changes nothing."""
    may_act = bool(request.user.is_superuser)
    try:
        book = read_book()
    except (SimulatorDownError, NotDoneError) as error:
        return page(request, _TEMPLATE, status=_DOWN, title=_TITLE, down=str(error))
    merchants = None if may_act else get_reviewer(user_id=request.user.pk or 0).merchant_ids
    beside = put_beside(book, merchant_ids=merchants, now=now_utc())
    return page(
        request,
        _TEMPLATE,
        title=_TITLE,
        beside=beside,
        hours_ahead=round(book.clock_ahead_seconds / 3600, 1),
        may_act=may_act,
        payment_actions=[action for action in ACTIONS.values() if action.about is About.PAYMENT],
        forget_keys=ACTIONS["forget-keys"].label,
    )


@require_POST
@staff_only
def act(request: HttpRequest, action: str) -> HttpResponse:
    """Let one thing happen at the provider, and show the page again."""
    if not request.user.is_superuser:
        raise PermissionDenied
    wanted = ACTIONS.get(action)
    if wanted is None:
        raise Http404
    thing = about(wanted, request.POST.get("about", ""), account=request.POST.get("account", ""))
    try:
        wanted.do(thing)
    except NotDoneError as error:
        messages.error(request, f"The provider did not do it: {error}")
    except SimulatorDownError:
        messages.error(request, "The provider's simulator does not answer; nothing was done.")
    else:
        messages.success(request, wanted.done)
    return redirect("demo:provider")
