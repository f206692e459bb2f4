"""One sentence for the next page of a request: what the form that was just sent did.

It waits in the session of whoever sent the form, so no link can make a page say it, and signing out drops it.
"""

from typing import Final

from django.http import HttpRequest

from ledger.intake import tell_removed

_KEY: Final = "request_notice"
ADDED: Final = "ADDED"
ATTACHED: Final = "ATTACHED"
JOINED: Final = "JOINED"
ORDER_KEPT: Final = "ORDER_KEPT"
PERSON_NOTED: Final = "PERSON_NOTED"
SAVED: Final = "SAVED"
_TEXTS: Final = {
    ADDED: "What you wrote is kept with this request.",
    ATTACHED: "You already had this request for that order. What you wrote is kept with it.",
    JOINED: "You already had this request, so it stays one. What you wrote is kept with it.",
    ORDER_KEPT: "We know now which order this request is about.",
    PERSON_NOTED: "We noted that you asked for a person.",
    SAVED: "What you wrote is saved.",
}


def leave_notice(request: HttpRequest, *, reference: str, code: str, kept: str = "") -> None:
    """Keep a notice for the next page of one request; of the text that was kept, what was taken out of it."""
    request.session[_KEY] = [reference, code, tell_removed(kept)]


def take_notice(request: HttpRequest, *, reference: str) -> str:
    """Return the notice for a request's page, once; an empty text where there is none."""
    kept = request.session.get(_KEY)
    if kept is None:
        return ""
    del request.session[_KEY]
    about, code, *removed = kept
    return " ".join(filter(None, (_TEXTS.get(code, ""), *removed))) if about == reference else ""
