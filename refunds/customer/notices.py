"""One sentence for the next page of a request: what the form that was just sent did.

It waits in the session of whoever sent the form, so no link can make a page say it, and signing out drops it.
"""

from typing import Final

from django.http import HttpRequest

_KEY: Final = "request_notice"
ADDED: Final = "ADDED"
ATTACHED: Final = "ATTACHED"
JOINED: Final = "JOINED"
ORDER_KEPT: Final = "ORDER_KEPT"
PERSON_NOTED: Final = "PERSON_NOTED"
_TEXTS: Final = {
    ADDED: "What you wrote is kept with this request.",
    ATTACHED: "You already had this request for that order. What you wrote is kept with it.",
    JOINED: "You already had this request, so it stays one. What you wrote is kept with it.",
    ORDER_KEPT: "We know now which order this request is about.",
    PERSON_NOTED: "We noted that you asked for a person.",
}


def leave_notice(request: HttpRequest, *, reference: str, code: str) -> None:
    """Keep a notice for the next page of one request."""
    request.session[_KEY] = [reference, code]


def take_notice(request: HttpRequest, *, reference: str) -> str:
    """Return the notice for a request's page, once; an empty text where there is none."""
    kept = request.session.get(_KEY)
    if kept is None:
        return ""
    del request.session[_KEY]
    about, code = kept
    return _TEXTS.get(code, "") if about == reference else ""
