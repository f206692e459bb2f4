"""The durable identity of one request (stage 2), its state, and its events."""

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Greatest
from django_fsm import FSMField, transition

from ledger.ids import ID_LENGTH
from ledger.models import Customer, EventModel, Merchant, Order, Payment, StatefulModel
from ledger.state_triggers import event_triggers, state_triggers
from refunds.states import (
    ADVANCEABLE_WORKFLOW_STATES,
    TERMINAL_WORKFLOW_STATES,
    WORKFLOW_TABLE,
    Origin,
    WorkflowState,
)

_S = WorkflowState
_T = WORKFLOW_TABLE
_ESTABLISHED = (
    *("policy_id", "policy_version", "snapshot_sha256", "snapshot_taken_at", "finding", "reason_code"),
    *("refund_payment_id", "kept_payment_id", "amount_minor_units", "currency", "command_number"),
)
# Nobody would ever advance these. A request without an order waits for its customer, if need be for ever.
FORGOTTEN_WORKFLOWS = Q(next_attempt_at__isnull=True) & (
    Q(state__in=ADVANCEABLE_WORKFLOW_STATES) | Q(state=_S.EVIDENCE_PENDING, order__isnull=False)
)


class RefundWorkflowEvent(EventModel):
    """One event of a request, append-only."""

    subject_field = "workflow"

    workflow = models.ForeignKey(
        "RefundWorkflow", on_delete=models.PROTECT, related_name="events", db_index=False
    )

    class Meta(EventModel.Meta):
        db_table = "refund_workflow_events"
        constraints = [
            *EventModel.Meta.constraints,
            models.UniqueConstraint(fields=["workflow", "state_sequence"], name="workflow_event_once"),
        ]
        triggers = [
            *EventModel.Meta.triggers,
            *event_triggers(
                state_table="refund_workflows",
                subject_column="workflow_id",
                event_table="refund_workflow_events",
            ),
        ]


class RefundWorkflow(StatefulModel):
    """One request for a refund, from the first words to its accountable end.

    ``open_slot`` allows one open customer request per order. ``finding`` and what follows it are written by
    stage 5; the command that is approved and executed is always built from these columns, never from a proposal.
    """

    event_model = RefundWorkflowEvent
    topic = "refund_workflow"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH)
    reference = models.CharField(max_length=12, unique=True)
    origin = models.CharField(max_length=10, default=Origin.CUSTOMER)
    maker_id = models.CharField(
        max_length=80, blank=True, help_text="Who made the command that is decided about; never approves it."
    )
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="+", db_index=False)
    order = models.ForeignKey(Order, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    staff_payment = models.ForeignKey(
        Payment, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    staff_amount_minor_units = models.BigIntegerField(
        null=True, blank=True, help_text="What staff asked to refund; a customer's request has none."
    )
    problem = models.CharField(max_length=40)
    client_token = models.CharField(max_length=100, blank=True, help_text="The caller's Idempotency-Key.")
    open_slot = models.CharField(max_length=60, null=True, blank=True, unique=True)
    state = FSMField(default=_S.EVIDENCE_PENDING, protected=True, max_length=32)
    person_required = models.BooleanField(default=False)
    policy_version = models.CharField(max_length=80, blank=True)
    policy_id = models.BigIntegerField(null=True, blank=True)
    snapshot = models.JSONField(null=True, blank=True)
    snapshot_sha256 = models.CharField(max_length=64, blank=True)
    snapshot_taken_at = models.DateTimeField(null=True, blank=True)
    finding = models.CharField(max_length=40, blank=True)
    reason_code = models.CharField(max_length=60, blank=True)
    finding_evidence = models.JSONField(default=list, blank=True)
    refund_payment = models.ForeignKey(
        Payment, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    kept_payment = models.ForeignKey(
        Payment, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    amount_minor_units = models.BigIntegerField(null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    command_number = models.PositiveIntegerField(default=0)
    source_failures = models.PositiveIntegerField(
        default=0, help_text="How often in a row the ledger's source could not be read; a case is open then."
    )
    repeat_contacts = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(
        null=True, blank=True, help_text="When the scanner may advance it."
    )
    claimed_until = models.DateTimeField(
        null=True, blank=True, help_text="Until when scanners leave it alone."
    )
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        db_table = "refund_workflows"
        constraints = [
            models.UniqueConstraint(
                fields=["customer", "client_token"], condition=~Q(client_token=""), name="workflow_token_once"
            ),
            models.CheckConstraint(
                condition=Q(
                    origin=Origin.STAFF,
                    order__isnull=False,
                    staff_payment__isnull=False,
                    staff_amount_minor_units__gt=0,
                )
                | Q(
                    origin=Origin.CUSTOMER,
                    staff_payment__isnull=True,
                    staff_amount_minor_units__isnull=True,
                ),
                name="workflow_amount_by_staff_alone",
            ),
            models.CheckConstraint(
                condition=Q(order__isnull=False)
                | Q(
                    state__in=[
                        _S.EVIDENCE_PENDING,
                        _S.MANUAL_REVIEW,
                        _S.WITHDRAWN,
                        _S.REJECTED,
                        _S.NO_REFUND_DUE,
                    ]
                ),
                name="workflow_without_order_decides_nothing",
            ),
        ]
        indexes = [
            models.Index(fields=["customer", "-created_at"], name="workflow_by_customer"),
            # One for each scanner of ``refunds.recovery``, in the order in which it claims; none holds finished rows.
            models.Index(
                Greatest("next_attempt_at", "claimed_until"),
                condition=Q(source_failures=0, next_attempt_at__isnull=False),
                name="workflow_to_advance",
            ),
            models.Index(
                Greatest("next_attempt_at", "claimed_until"),
                condition=Q(source_failures__gt=0, next_attempt_at__isnull=False),
                name="workflow_unread",
            ),
            models.Index(fields=["updated_at"], condition=FORGOTTEN_WORKFLOWS, name="workflow_forgotten"),
            models.Index(
                fields=["state", "updated_at"],
                condition=Q(state__in=sorted(frozenset(_S) - TERMINAL_WORKFLOW_STATES)),
                name="workflow_waiting",
            ),
        ]
        triggers = [
            *state_triggers(_T, event_table="refund_workflow_events", subject_column="workflow_id"),
            pgtrigger.ReadOnly(
                name="identity_is_fixed",
                fields=[
                    *("reference", "origin", "merchant", "customer", "created_at"),
                    *("staff_payment", "staff_amount_minor_units"),
                ],
            ),
            pgtrigger.Trigger(
                name="order_given_once",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition("OLD.order_id IS DISTINCT FROM NEW.order_id"),
                func=f"""
                    IF OLD.order_id IS NULL AND NEW.state = '{_S.EVIDENCE_PENDING}' THEN RETURN NEW; END IF;
                    RAISE EXCEPTION 'workflow % is about the order that was given first', OLD.id
                        USING ERRCODE = 'integrity_constraint_violation';
                """,
            ),
            pgtrigger.Trigger(
                name="person_stays_required",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition("OLD.person_required AND NOT NEW.person_required"),
                func="""
                    RAISE EXCEPTION 'workflow % needs a person from now on', OLD.id
                        USING ERRCODE = 'integrity_constraint_violation';
                """,
            ),
            pgtrigger.Trigger(
                name="finding_is_fixed",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition(
                    " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in _ESTABLISHED)
                ),
                func=f"""
                    IF NEW.state = '{_S.EVIDENCE_VERIFIED}' AND OLD.state <> NEW.state THEN RETURN NEW; END IF;
                    RAISE EXCEPTION 'workflow % changes what is established only by establishing it', OLD.id
                        USING ERRCODE = 'integrity_constraint_violation';
                """,
            ),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def event_ids(self) -> dict[str, str]:
        """The request's own id."""
        return {"workflow_id": self.pk}

    @transition(field=state, source=_T.sources_of(_S.EVIDENCE_PENDING), target=_S.EVIDENCE_PENDING)
    def read_evidence_again(self) -> None:
        """The evidence is read anew, after a voided approval or a cancelled operation."""

    @transition(field=state, source=_T.sources_of(_S.EVIDENCE_VERIFIED), target=_S.EVIDENCE_VERIFIED)
    def verify_evidence(self) -> None:
        """Policy version, ledger snapshot and finding are recorded (stages 3 to 5)."""

    @transition(field=state, source=_T.sources_of(_S.ACTION_PROPOSED), target=_S.ACTION_PROPOSED)
    def propose_action(self) -> None:
        """A proposal is stored, untrusted (stage 6)."""

    @transition(field=state, source=_T.sources_of(_S.PROPOSAL_VALIDATED), target=_S.PROPOSAL_VALIDATED)
    def validate_proposal(self) -> None:
        """All seven checks passed (stage 7)."""

    @transition(field=state, source=_T.sources_of(_S.PROPOSAL_REJECTED), target=_S.PROPOSAL_REJECTED)
    def reject_proposal(self) -> None:
        """The proposal is malformed, inconsistent or unauthorised (stage 7)."""

    @transition(
        field=state, source=_T.sources_of(_S.REQUIRES_HUMAN_APPROVAL), target=_S.REQUIRES_HUMAN_APPROVAL
    )
    def queue_for_approval(self) -> None:
        """A person must decide (stage 8)."""

    @transition(field=state, source=_T.sources_of(_S.APPROVED), target=_S.APPROVED)
    def approve(self) -> None:
        """An approval bound to the exact command stands (stage 8)."""

    @transition(field=state, source=_T.sources_of(_S.EXECUTING), target=_S.EXECUTING)
    def execute(self) -> None:
        """A refund operation is committed and leads from here (stage 9)."""

    @transition(field=state, source=_T.sources_of(_S.MANUAL_REVIEW), target=_S.MANUAL_REVIEW)
    def hand_to_people(self) -> None:
        """People own it, with a ticket."""

    @transition(field=state, source=_T.sources_of(_S.COMPLETED), target=_S.COMPLETED)
    def complete(self) -> None:
        """The refund is confirmed."""

    @transition(field=state, source=_T.sources_of(_S.NO_REFUND_DUE), target=_S.NO_REFUND_DUE)
    def find_nothing_due(self) -> None:
        """The ledger shows that nothing is owed."""

    @transition(field=state, source=_T.sources_of(_S.REJECTED), target=_S.REJECTED)
    def reject(self) -> None:
        """A person, or the provider where the policy closes, refused it."""

    @transition(field=state, source=_T.sources_of(_S.WITHDRAWN), target=_S.WITHDRAWN)
    def withdraw(self) -> None:
        """The customer took it back before an operation existed."""
