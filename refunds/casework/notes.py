"""A colleague's note: checked like any text from outside, and kept where it can be erased."""

from datetime import datetime

from ledger.intake import IntakeRefusedError, check_message
from ledger.models import ErasableText


class NoteRefusedError(ValueError):
    """If you see this, a note cannot be kept: NOTE_TOO_LONG, NOTE_NOT_READABLE or what else intake refuses."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def check_note(text: str) -> str:
    """Return the note, trimmed; an empty one stays empty. Raises ``NoteRefusedError``."""
    if not text.strip():
        return ""
    try:
        return check_message(text)
    except IntakeRefusedError as refused:
        raise NoteRefusedError(refused.code.replace("MESSAGE", "NOTE")) from refused


def keep_note(text: str, *, now: datetime) -> dict[str, object]:
    """Store a checked note and return what evidence holds of it: its row and digest, or nothing."""
    if not text:
        return {}
    kept = ErasableText.keep(text, now=now)
    return {"note_text": kept.pk, "note_sha256": kept.sha256}
