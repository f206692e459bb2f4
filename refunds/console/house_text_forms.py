"""What a person enters about a house text: the text itself, and the note beside a decision."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django import forms

from ledger.intake import without_sensitive_data
from policies.document_metadata import check_metadata
from policies.document_text import (
    LANGUAGES,
    MAX_BODY,
    MAX_PARAGRAPH,
    MAX_TITLE,
    DocumentRefusedError,
    check_body,
    check_title,
)
from refunds.console.forms import NOTE_MAX_LENGTH, WithNote

_SHOWN_AGAIN: Final = 2 * MAX_BODY  # characters of a refused field that come back for editing


def _chosen(text: str) -> dict[str, str]:
    """Return one sentence for every choice that is none, without what was sent in its place."""
    return {"required": text, "invalid_choice": text}


class UploadForm(forms.Form):
    """A text for one of the merchants that the person works for; lengths are the door's own business."""

    merchant = forms.ChoiceField(label="Merchant", error_messages=_chosen("Choose a merchant."))
    title = forms.CharField(
        label="Title",
        help_text=f"One line of at most {MAX_TITLE} characters. It is given to a model together with each paragraph.",
        error_messages={"required": "Write a title."},
    )
    body = forms.CharField(
        label="Text",
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text=f"At most {MAX_BODY} characters, in paragraphs of at most {MAX_PARAGRAPH} with an empty line "
        "between them. A paragraph is found when it and the title hold every word of a code of the case, such as "
        "duplicate and charge. No personal data: a text with any is refused.",
        error_messages={"required": "Write the text."},
    )
    language = forms.ChoiceField(
        label="Language", choices=list(LANGUAGES.items()), error_messages=_chosen("Choose a language.")
    )
    metadata = forms.CharField(
        label="More about it, as JSON",
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        required=False,
        help_text='Names with a text, a whole number, true or false, such as {"source": "handbook 4.2"}. It is kept '
        "for whoever reads the text and decides nothing. Names of the desk's own, such as approved, are ignored.",
    )

    def __init__(self, *args: Any, merchants: tuple[tuple[int, str], ...], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["merchant"]
        if isinstance(field, forms.ChoiceField):
            field.choices = [(str(pk), name) for pk, name in merchants]

    def clean_title(self) -> str:
        """Return the title, checked."""
        with _shown():
            return check_title(self.cleaned_data["title"])

    def clean_body(self) -> str:
        """Return the text, checked."""
        with _shown():
            return check_body(self.cleaned_data["body"])

    def clean_metadata(self) -> str:
        """Return what was typed, checked; what is kept of it is read again when it is stored."""
        typed: str = self.cleaned_data["metadata"]
        with _shown():
            check_metadata(typed)
        return typed

    def clean(self) -> dict[str, Any]:
        """Let a refused form come back for editing without what is sensitive in any of its fields."""
        cleaned: dict[str, Any] = super().clean() or {}
        if self.errors:
            typed = {name: self.data.get(name) or "" for name in self.fields}
            self.data = {
                name: without_sensitive_data(text, most=_SHOWN_AGAIN) for name, text in typed.items()
            }
        return cleaned


@contextmanager
def _shown() -> Iterator[None]:
    """Show what the door refuses beside its field."""
    try:
        yield
    except DocumentRefusedError as refused:
        raise forms.ValidationError(refused.text, code=refused.code) from refused


class TextNoteForm(WithNote):
    """A note for colleagues beside a decision, and the fingerprint of what the person read."""

    fingerprint = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)
    note = forms.CharField(
        label="Note for colleagues",
        widget=forms.Textarea(attrs={"rows": 4}),
        max_length=NOTE_MAX_LENGTH,
        required=False,
    )


class RejectTextForm(TextNoteForm):
    """A rejection says why in words."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].required = True
        self.fields["note"].error_messages["required"] = (
            "Write a note: a rejection needs its reason in words."
        )
