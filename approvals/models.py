"""Human decisions: approvals bound to one exact command, and the cases that people own.

``subject_id`` is a plain id and ``command`` a frozen copy: what an approver saw can never change under them, and
this app does not need to know refunds.
"""

import pgtrigger
from django.db import models
from django.db.models import Q
from django_fsm import FSMField, transition

from approvals.states import APPROVAL_TABLE, ApprovalState, CaseKind, SubjectKind
from ledger.ids import ID_LENGTH
from ledger.models import AppendOnlyModel, ErasableText, EventModel, Merchant, StatefulModel
from ledger.state_triggers import event_triggers, state_triggers

_S = ApprovalState
_T = APPROVAL_TABLE


class ApprovalEvent(EventModel):
    """Evidence of one approval: its transitions, and each person's vote (unique per person)."""

    subject_field = "approval"

    approval = models.ForeignKey(
        "ApprovalRequest", on_delete=models.PROTECT, related_name="events", db_index=False
    )
    voter_id = models.CharField(max_length=80, blank=True)

    class Meta(EventModel.Meta):
        db_table = "approval_events"
        constraints = [
            *EventModel.Meta.constraints,
            models.UniqueConstraint(fields=["approval", "state_sequence"], name="approval_event_once"),
            models.UniqueConstraint(
                fields=["approval", "voter_id"],
                condition=~Q(voter_id=""),
                name="approval_vote_once_per_person",
            ),
        ]
        triggers = [
            *EventModel.Meta.triggers,
            *event_triggers(
                state_table="approval_requests", subject_column="approval_id", event_table="approval_events"
            ),
        ]


class ApprovalRequest(StatefulModel):
    """One decision about one exact command, by somebody other than its maker, used for one operation."""

    event_model = ApprovalEvent
    topic = "approval"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+")
    subject_kind = models.CharField(max_length=12, default=SubjectKind.REFUND)
    subject_id = models.CharField(max_length=ID_LENGTH)
    command = models.JSONField()
    command_number = models.PositiveIntegerField()
    request_fingerprint = models.CharField(max_length=64, unique=True)
    maker_id = models.CharField(max_length=80)
    approvals_needed = models.PositiveSmallIntegerField(default=1)
    rule = models.CharField(max_length=80, blank=True, help_text="The rule that an automatic approval cites.")
    policy_version = models.CharField(max_length=80)
    valid_for_hours = models.PositiveIntegerField()
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Runs from the moment it is granted.")
    state = FSMField(default=_S.PENDING, protected=True, max_length=12)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        db_table = "approval_requests"
        constraints = [
            models.UniqueConstraint(
                fields=["subject_kind", "subject_id", "command_number"], name="approval_once_per_command"
            ),
            models.CheckConstraint(
                condition=~Q(state=_S.GRANTED) | Q(expires_at__isnull=False), name="approval_granted_expires"
            ),
        ]
        triggers = [
            *state_triggers(_T, event_table="approval_events", subject_column="approval_id"),
            pgtrigger.ReadOnly(
                name="command_is_fixed",
                fields=[
                    "merchant",
                    "subject_kind",
                    "subject_id",
                    "command",
                    "command_number",
                    "request_fingerprint",
                    "maker_id",
                    "approvals_needed",
                    "rule",
                    "policy_version",
                    "valid_for_hours",
                    "created_at",
                ],
            ),
            pgtrigger.Trigger(
                name="expiry_is_fixed",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition("OLD.expires_at IS DISTINCT FROM NEW.expires_at"),
                func=f"""
                    IF OLD.state = '{_S.PENDING}' AND NEW.state = '{_S.GRANTED}' THEN RETURN NEW; END IF;
                    RAISE EXCEPTION 'approval % got its expiry when it was granted', OLD.id
                        USING ERRCODE = 'integrity_constraint_violation';
                """,
            ),
        ]

    def __str__(self) -> str:
        return self.pk

    @property
    def event_ids(self) -> dict[str, str]:
        """The decision's own id, and that of the request, house text or operation that it is about."""
        about: dict[str, str] = {
            SubjectKind.REFUND: "workflow_id",
            SubjectKind.POLICY: "knowledge_document_id",
            SubjectKind.EVIDENCE: "refund_operation_id",
        }
        name = about.get(self.subject_kind)
        return {**({name: self.subject_id} if name else {}), "approval_id": self.pk}

    @transition(field=state, source=_T.sources_of(_S.GRANTED), target=_S.GRANTED)
    def grant(self) -> None:
        """Enough people, or the cited rule, said yes."""

    @transition(field=state, source=_T.sources_of(_S.REJECTED), target=_S.REJECTED)
    def reject(self) -> None:
        """A person said no."""

    @transition(field=state, source=_T.sources_of(_S.CONSUMED), target=_S.CONSUMED)
    def consume(self) -> None:
        """An operation was created under it (stage 9)."""

    @transition(field=state, source=_T.sources_of(_S.VOIDED), target=_S.VOIDED)
    def void(self) -> None:
        """The facts it was bound to changed."""

    @transition(field=state, source=_T.sources_of(_S.EXPIRED), target=_S.EXPIRED)
    def expire(self) -> None:
        """Its time passed unused."""


class EvidenceAttachment(AppendOnlyModel):
    """What a person found at the provider, attached to the decision that rests on it.

    ``facts`` holds allow-listed fields alone; the provider's words are erasable, and ``sha256`` is their digest.
    """

    approval = models.ForeignKey(
        ApprovalRequest, on_delete=models.PROTECT, related_name="attachments", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=24)
    facts = models.JSONField()
    text = models.ForeignKey(ErasableText, on_delete=models.PROTECT, related_name="+", db_index=False)
    sha256 = models.CharField(max_length=64)
    attached_by = models.CharField(max_length=80)
    at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "evidence_attachments"
        constraints = [
            models.UniqueConstraint(fields=["approval", "number"], name="attachment_number_once"),
        ]

    def __str__(self) -> str:
        return f"{self.approval_id} #{self.number} {self.kind}"


class ReviewCase(models.Model):
    """Work that people own: one open case per subject and kind, with a ticket that customers are told."""

    id = models.CharField(primary_key=True, max_length=ID_LENGTH)
    ticket = models.BigIntegerField(unique=True, help_text="Drawn from the sequence review_case_ticket.")
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=16, choices=[(k.value, k.value) for k in CaseKind])
    subject_id = models.CharField(max_length=ID_LENGTH)
    reason = models.CharField(max_length=80)
    opened_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, blank=True, help_text="By when people promised to look.")
    claimed_by = models.CharField(max_length=80, blank=True, help_text="Who works on it, as ``user:<id>``.")
    claimed_until = models.DateTimeField(null=True, blank=True, help_text="Then anybody may take it over.")
    escalated_at = models.DateTimeField(
        null=True, blank=True, help_text="When operators were told that nobody had looked in time."
    )
    closed_at = models.DateTimeField(null=True, blank=True)
    closed_because = models.CharField(max_length=80, blank=True)

    class Meta:
        db_table = "review_cases"
        constraints = [
            models.UniqueConstraint(
                fields=["subject_id", "kind"], condition=Q(closed_at__isnull=True), name="case_open_once"
            ),
        ]
        indexes = [
            models.Index(
                fields=["merchant", "opened_at"], condition=Q(closed_at__isnull=True), name="case_queue"
            ),
            models.Index(
                fields=["due_at"],
                condition=Q(closed_at__isnull=True, escalated_at__isnull=True),
                name="case_to_escalate",
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="never_deleted", operation=pgtrigger.Delete),
            pgtrigger.ReadOnly(
                name="case_is_fixed",
                fields=["ticket", "merchant", "kind", "subject_id", "reason", "opened_at"],
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.ticket}"
