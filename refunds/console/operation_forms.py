"""What a person says about an operation: the provider's reference, evidence for giving it up, a second opinion."""

from typing import Any, Final

from django import forms

from ledger.intake import IntakeRefusedError, check_note
from refunds.casework.given_reference import is_reference
from refunds.casework.provider_evidence import is_provider_reference
from refunds.console.forms import NOTE_MAX_LENGTH, WithNote
from refunds.console.operation_wording import (
    ABOUT_OPERATIONS,
    CONFIRM_REASONS,
    DECLINE_REASONS,
    SOURCES,
    STATEMENTS,
)
from refunds.console.work_forms import WorkForm

_NOW_FORMAT: Final = "%Y-%m-%dT%H:%M"
_ABOUT_THE_TIME: Final = frozenset({"EVIDENCE_FROM_THE_FUTURE", "EVIDENCE_BEFORE_THE_CALL"})


class _Moment(forms.DateTimeInput):
    """A browser's own field for a date and time; without one it is typed, such as 2026-11-30 14:05."""

    input_type = "datetime-local"

    def __init__(self) -> None:
        super().__init__(format=_NOW_FORMAT)


class CancelForm(WorkForm):
    """A proposal to give an operation up: what is stated, and the provider's evidence for it."""

    reasons = STATEMENTS
    source = forms.ChoiceField(
        label="Where you looked",
        choices=SOURCES,
        widget=forms.RadioSelect,
        error_messages={
            "required": ABOUT_OPERATIONS["EVIDENCE_KIND_UNKNOWN"],
            "invalid_choice": ABOUT_OPERATIONS["EVIDENCE_KIND_UNKNOWN"],
        },
    )
    seen_at = forms.DateTimeField(
        label="When you looked (UTC)",
        widget=_Moment,
        error_messages={
            "required": "Enter when you looked.",
            "invalid": "Enter a date and a time, such as 2026-11-30 14:05.",
        },
    )
    provider_reference = forms.CharField(
        label="The provider's id of what you saw",
        help_text="Such as the id of the request, the chat or the report.",
        max_length=100,
        error_messages={"required": ABOUT_OPERATIONS["EVIDENCE_REFERENCE_INVALID"]},
    )
    words = forms.CharField(
        label="What the provider says, word for word",
        widget=forms.Textarea(attrs={"rows": 6}),
        max_length=NOTE_MAX_LENGTH,
        error_messages={"required": ABOUT_OPERATIONS["EVIDENCE_REQUIRED"]},
    )
    field_order = ("reason_code", "source", "seen_at", "provider_reference", "words", "note")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].label = "Note for colleagues (required for another statement)"

    def clean_provider_reference(self) -> str:
        """Return the provider's id of what was seen, checked."""
        named: str = self.cleaned_data["provider_reference"]
        if is_provider_reference(named):
            return named
        self.show_again("provider_reference", named)
        raise forms.ValidationError(ABOUT_OPERATIONS["EVIDENCE_REFERENCE_INVALID"])

    def clean_words(self) -> str:
        """Return the provider's words, checked; refused ones come back for editing, nothing sensitive in them."""
        words: str = self.cleaned_data["words"]
        try:
            return check_note(words)
        except IntakeRefusedError as refused:
            self.show_again("words", words)
            code = refused.code.replace("NOTE", "EVIDENCE")
            raise forms.ValidationError(ABOUT_OPERATIONS.get(code, refused.text), code=code) from refused

    def takes(self, code: str) -> bool:
        """Say beside its field what was refused about it under the locks; False if it is about something else."""
        if code not in _ABOUT_THE_TIME:
            return False
        self.add_error("seen_at", ABOUT_OPERATIONS[code])
        return True


class ProposalForm(WorkForm):
    """The second person's decision, with the fingerprint of the proposal as they saw it."""

    fingerprint = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)


class ConfirmForm(ProposalForm):
    """A confirmation: the note is needed only for another reason."""

    reasons = CONFIRM_REASONS


class DeclineForm(ProposalForm):
    """Declining always says why in words."""

    reasons = DECLINE_REASONS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].required = True
        self.fields["note"].error_messages["required"] = (
            "Write a note: your colleague needs the reason in words."
        )


class ReferenceForm(WithNote):
    """The provider's id of a refund; it is looked up, and only what the provider shows counts."""

    reference = forms.CharField(
        label="The provider's id of the refund",
        max_length=255,
        help_text="Such as re_1AbC. It is looked up, and only what the provider shows counts.",
        error_messages={"required": ABOUT_OPERATIONS["REFERENCE_INVALID"]},
    )
    note = forms.CharField(
        label="Note for colleagues",
        widget=forms.Textarea(attrs={"rows": 3}),
        max_length=NOTE_MAX_LENGTH,
        required=False,
    )

    def clean_reference(self) -> str:
        """Return the provider's id of the refund, checked."""
        named: str = self.cleaned_data["reference"]
        if is_reference(named):
            return named
        self.show_again("reference", named)
        raise forms.ValidationError(ABOUT_OPERATIONS["REFERENCE_INVALID"])
