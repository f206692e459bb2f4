"""What a person says about work on a case: a reason, a note, and for closing the outcome."""

from typing import Any, Final

from django import forms

from refunds.console.forms import NOTE_MAX_LENGTH, OTHER, WithNote
from refunds.console.operation_wording import STANDS_REASONS
from refunds.states import WorkflowState

READ_AGAIN_REASONS: Final = (
    ("RECORDS_CORRECTED", "The payment records were corrected"),
    ("RECORDS_INCOMPLETE", "The payment records were incomplete when they were read"),
    (OTHER, "Another reason, given in the note"),
)
REBUILD_REASONS: Final = (
    ("DUPLICATE_CONFIRMED", "I compared both charges: the second one is a duplicate"),
    ("PROPOSAL_UNUSABLE", "The proposal was unusable, and the evidence is sound"),
    (OTHER, "Another reason, given in the note"),
)
CLOSE_REASONS: Final = (
    ("NOT_A_DUPLICATE", "The charges are two purchases"),
    ("ALREADY_RETURNED", "The money was already returned"),
    ("EVIDENCE_INCOMPLETE", "The evidence does not show what happened"),
    ("SUSPECTED_MISUSE", "The request looks like misuse"),
    (OTHER, "Another reason, given in the note"),
)
OUTCOMES: Final = (
    (WorkflowState.NO_REFUND_DUE.value, "No refund is due: the records show that nothing is owed"),
    (WorkflowState.REJECTED.value, "Not approved: we decide against a refund"),
)


class WorkForm(WithNote):
    """A reason code and a note; the note is required where the code alone says nothing."""

    reason_code = forms.ChoiceField(
        label="Reason",
        widget=forms.RadioSelect,
        error_messages={"required": "Choose a reason.", "invalid_choice": "Choose a reason."},
    )
    note = forms.CharField(
        label="Note for colleagues",
        widget=forms.Textarea(attrs={"rows": 4}),
        max_length=NOTE_MAX_LENGTH,
        required=False,
    )
    reasons: tuple[tuple[str, str], ...] = READ_AGAIN_REASONS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["reason_code"]
        if isinstance(field, forms.ChoiceField):
            field.choices = self.reasons

    def clean(self) -> dict[str, Any]:
        """Ask for a note where the code alone says nothing."""
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("reason_code") == OTHER and not cleaned.get("note") and "note" not in self.errors:
            self.add_error("note", "Say in the note what the reason is.")
        return cleaned


class RebuildForm(WorkForm):
    """A command from facts: why it is due although nobody could approve what was proposed."""

    reasons = REBUILD_REASONS


class CloseForm(WorkForm):
    """An end without a refund always says why in words."""

    outcome = forms.ChoiceField(
        label="Outcome",
        choices=OUTCOMES,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose an outcome.", "invalid_choice": "Choose an outcome."},
    )
    reasons = CLOSE_REASONS
    field_order = ("outcome", "reason_code", "note")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].required = True
        self.fields["note"].error_messages["required"] = "Write a note: closing needs its reason in words."


class CloseCompletedForm(WorkForm):
    """An end with the refund standing says in words how the money went back."""

    reasons = STANDS_REASONS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].required = True
        self.fields["note"].error_messages["required"] = "Write a note: closing needs its reason in words."


class LookUpForm(forms.Form):
    """Asking the provider again needs no reason: nothing is sent by it."""
