"""A colleague's note, kept where it can be erased; ``ledger.intake.check_note`` says which one may be kept."""

from datetime import datetime

from ledger.models import ErasableText


def keep_note(text: str, *, now: datetime) -> dict[str, object]:
    """Store a checked note and return what evidence holds of it: its row and digest, or nothing."""
    if not text:
        return {}
    kept = ErasableText.keep(text, now=now)
    return {"note_text": kept.pk, "note_sha256": kept.sha256}
