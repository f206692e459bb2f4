"""The console's sentences about house texts. Pure."""

from typing import Final

from refunds.console.wording import NOTE_REFUSED

STATES: Final = {
    "UPLOADED": "Waits for a second person",
    "ACTIVE": "In use",
    "REJECTED": "Rejected",
    "RETIRED": "Retired",
}
_NOTHING: Final = "Nothing was changed."
WHY_NOT: Final = NOTE_REFUSED | {
    "NOT_ALLOWED": "You may read house texts of this merchant, but not upload or decide them.",
    "OWN_REQUEST": "You uploaded this text, so somebody else must decide about it.",
    "NOT_PENDING": "This text is not waiting for a decision any more.",
    "NOT_ACTIVE": "This text is not in use.",
    "ALREADY_VOTED": "You have decided about this text already.",
    "FINGERPRINT_CHANGED": "This is not the text that you saw. Read it again and decide about what is shown now.",
    "NO_SUCH_TEXT": "There is no such text.",
    "ALREADY_THERE": "Exactly this text waits for a decision or is in use already.",
    "TOO_MANY_TEXTS": "So many texts wait or are in use that no other one is taken. Retire or decide some first.",
    "NOTE_REQUIRED": "Write a note: a rejection needs its reason in words.",
}


def state_text(state: str) -> str:
    """Return what a state means for people."""
    return STATES.get(state, state)


def why_not(code: str) -> str:
    """Return why something is not possible, or an empty text."""
    return WHY_NOT.get(code, code)


def why_refused(code: str) -> str:
    """Return why something was not done; it always says that nothing was changed."""
    return f"{WHY_NOT.get(code, f'This was refused ({code}).')} {_NOTHING}"


def told_of_ignored(names: tuple[str, ...]) -> str:
    """Return what the uploader is told about names that were ignored, or an empty text."""
    if not names:
        return ""
    return (
        f"Ignored in what you said about it, since these names are the desk's own: {', '.join(names)}. "
        "Whose text it is and whether it may be used is not decided there."
    )
