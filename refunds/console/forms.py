"""What a reviewer may enter: a filter of the queue, and a decision with its reason."""

from typing import Any, Final

from django import forms

from approvals.states import CaseKind
from ledger.intake import IntakeRefusedError, check_note, without_sensitive_data
from refunds.selectors.review_records import QueueFilter

NOTE_MAX_LENGTH: Final = 2000
OTHER: Final = "OTHER"
APPROVE_REASONS: Final = (
    ("DUPLICATE_CONFIRMED", "I compared both charges: the second one is a duplicate"),
    (OTHER, "Another reason, given in the note"),
)
REJECT_REASONS: Final = (
    ("NOT_A_DUPLICATE", "The charges are two purchases"),
    ("ALREADY_RETURNED", "The money was already returned"),
    ("EVIDENCE_INCOMPLETE", "The evidence does not show what happened"),
    ("SUSPECTED_MISUSE", "The request looks like misuse"),
    (OTHER, "Another reason, given in the note"),
)
_KINDS: Final = {
    CaseKind.APPROVAL: "Approval",
    CaseKind.INVESTIGATION: "Investigation",
    CaseKind.VERIFICATION: "Verification",
    CaseKind.FINANCE: "Finance",
}


_WHOSE: Final = (
    ("", "Everybody's"),
    ("mine", "Claimed by me"),
    ("unclaimed", "Claimed by nobody"),
    ("overdue", "Overdue"),
)


class QueueFilterForm(forms.Form):
    """Narrows the queue; what does not fit is ignored with an error, never searched."""

    kind = forms.ChoiceField(
        label="Kind of case",
        required=False,
        choices=[("", "All kinds"), *((k.value, t) for k, t in _KINDS.items())],
    )
    whose = forms.ChoiceField(label="Whose", required=False, choices=_WHOSE)
    q = forms.CharField(label="Ticket, order, reference or id", required=False, max_length=64)

    def wanted(self) -> QueueFilter:
        """Return the filter; a field with an error filters nothing."""
        self.is_valid()
        return QueueFilter(
            kind=self.cleaned_data.get("kind", ""),
            text=self.cleaned_data.get("q", "").strip(),
            whose=self.cleaned_data.get("whose", ""),
        )


class WithNote(forms.Form):
    """A form with a ``note``: what may not be kept comes back for editing, without what is sensitive in it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[
            "note"
        ].help_text = "A marker is saved in the place of passwords, keys, e-mail addresses and phone numbers."

    def clean_note(self) -> str:
        """Return the note, checked."""
        note: str = self.cleaned_data["note"]
        try:
            return check_note(note)
        except IntakeRefusedError as refused:
            self.show_again("note", note)
            raise forms.ValidationError(refused.text, code=refused.code) from refused

    def show_again(self, name: str, typed: str) -> None:
        """Let a refused text come back for editing, without what is sensitive in it."""
        sent = {field: self.data.get(field) for field in self.fields}
        self.data = {**sent, name: without_sensitive_data(typed)}


class DecisionForm(WithNote):
    """A reason code, a note, and the fingerprint of the command as the reviewer saw it."""

    fingerprint = forms.CharField(widget=forms.HiddenInput, max_length=64, required=False)
    reason_code = forms.ChoiceField(label="Reason", widget=forms.RadioSelect)
    note = forms.CharField(
        label="Note for colleagues",
        widget=forms.Textarea(attrs={"rows": 4}),
        max_length=NOTE_MAX_LENGTH,
        required=False,
    )

    reasons: tuple[tuple[str, str], ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        reason = self.fields["reason_code"]
        if isinstance(reason, forms.ChoiceField):
            reason.choices = self.reasons
        reason.error_messages |= {"required": "Choose a reason.", "invalid_choice": "Choose a reason."}

    def clean(self) -> dict[str, Any]:
        """Ask for a note where the code alone says nothing."""
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("reason_code") == OTHER and not cleaned.get("note") and "note" not in self.errors:
            self.add_error("note", "Say in the note what the reason is.")
        return cleaned


class ApproveForm(DecisionForm):
    """An approval: the note is needed only for another reason."""

    reasons = APPROVE_REASONS


class RejectForm(DecisionForm):
    """A rejection always says why in words."""

    reasons = REJECT_REASONS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].required = True
        self.fields["note"].error_messages["required"] = (
            "Write a note: a rejection needs its reason in words."
        )
