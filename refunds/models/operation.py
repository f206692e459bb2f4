"""One financial instruction (stage 9), its state, and its events."""

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Greatest
from django_fsm import FSMField, transition

from ledger.ids import ID_LENGTH
from ledger.models import EventModel, Merchant, Payment, StatefulModel
from ledger.state_triggers import event_triggers, state_triggers
from refunds.models.conservation import freeze, guard
from refunds.models.workflow import RefundWorkflow
from refunds.states import (
    ABANDONED_OPERATION_STATES,
    ANSWERABLE_OPERATION_STATES,
    DOUBTFUL_OPERATION_STATES,
    EXECUTABLE_OPERATION_STATES,
    OPERATION_TABLE,
    UNRESOLVED_OPERATION_STATES,
    OperationState,
)

_S = OperationState
_T = OPERATION_TABLE
# Nobody would ever look at these: the scanners go by the due time that each state has.
FORGOTTEN_SUBMISSIONS = Q(state__in=EXECUTABLE_OPERATION_STATES, next_attempt_at__isnull=True)
FORGOTTEN_LOOK_UPS = Q(state__in=ANSWERABLE_OPERATION_STATES, next_check_at__isnull=True)
_ABANDONED = ", ".join(f"'{state}'" for state in sorted(ABANDONED_OPERATION_STATES))


class RefundOperationEvent(EventModel):
    """One event of an operation, append-only."""

    subject_field = "operation"

    operation = models.ForeignKey(
        "RefundOperation", on_delete=models.PROTECT, related_name="events", db_index=False
    )

    class Meta(EventModel.Meta):
        db_table = "refund_operation_events"
        constraints = [
            *EventModel.Meta.constraints,
            models.UniqueConstraint(fields=["operation", "state_sequence"], name="operation_event_once"),
        ]
        triggers = [
            *EventModel.Meta.triggers,
            *event_triggers(
                state_table="refund_operations",
                subject_column="operation_id",
                event_table="refund_operation_events",
            ),
        ]


class RefundOperation(StatefulModel):
    """A command that may reach the provider. Its fingerprint, key, amount, currency and target never change."""

    event_model = RefundOperationEvent
    topic = "refund_operation"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH)
    workflow = models.ForeignKey(RefundWorkflow, on_delete=models.PROTECT, related_name="operations")
    approval_id = models.CharField(max_length=ID_LENGTH, unique=True)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    account = models.CharField(max_length=64, blank=True)
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="refund_operations")
    payment_reference = models.CharField(max_length=255)
    amount_minor_units = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    reason_code = models.CharField(max_length=40)
    idempotency_key = models.CharField(max_length=255, unique=True)
    request_fingerprint = models.CharField(max_length=64, unique=True)
    policy_version = models.CharField(max_length=80)
    policy_id = models.BigIntegerField()
    state = FSMField(default=_S.CREATED, protected=True, max_length=32)
    processor_reference = models.CharField(max_length=255, null=True, blank=True)
    next_attempt_at = models.DateTimeField(null=True, blank=True, help_text="When a submission may start.")
    next_check_at = models.DateTimeField(null=True, blank=True, help_text="When recovery looks at it next.")
    checks_made = models.PositiveIntegerField(default=0)
    claimed_until = models.DateTimeField(
        null=True, blank=True, help_text="Until when scanners leave it alone."
    )
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        db_table = "refund_operations"
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "account", "processor_reference"], name="operation_reference_once"
            ),
            models.CheckConstraint(condition=Q(amount_minor_units__gt=0), name="operation_amount_positive"),
            models.CheckConstraint(
                condition=~Q(state=_S.COMPLETED) | Q(processor_reference__isnull=False),
                name="operation_completed_has_reference",
            ),
        ]
        indexes = [
            # One for each scanner of ``refunds.recovery``, in the order in which it claims; none holds finished rows.
            models.Index(
                Greatest("next_attempt_at", "claimed_until"),
                condition=Q(state__in=EXECUTABLE_OPERATION_STATES, next_attempt_at__isnull=False),
                name="operation_to_submit",
            ),
            models.Index(
                Greatest("next_check_at", "claimed_until"),
                condition=Q(state=_S.SUBMITTED, next_check_at__isnull=False),
                name="operation_overdue",
            ),
            models.Index(
                Greatest("next_check_at", "claimed_until"),
                condition=Q(state__in=DOUBTFUL_OPERATION_STATES, next_check_at__isnull=False),
                name="operation_in_doubt",
            ),
            models.Index(
                Greatest("next_check_at", "claimed_until"),
                condition=Q(state=_S.MANUAL_REVIEW, next_check_at__isnull=False),
                name="operation_with_people",
            ),
            models.Index(
                fields=["updated_at"],
                condition=FORGOTTEN_SUBMISSIONS | FORGOTTEN_LOOK_UPS,
                name="operation_forgotten",
            ),
            models.Index(
                fields=["state", "updated_at"],
                condition=Q(state__in=sorted(UNRESOLVED_OPERATION_STATES)),
                name="operation_waiting",
            ),
            models.Index(fields=["merchant", "created_at"], name="operation_by_time"),
        ]
        triggers = [
            *state_triggers(_T, event_table="refund_operation_events", subject_column="operation_id"),
            pgtrigger.ReadOnly(
                name="instruction_is_fixed",
                fields=[
                    "workflow",
                    "approval_id",
                    "merchant",
                    "account",
                    "payment",
                    "payment_reference",
                    "amount_minor_units",
                    "currency",
                    "reason_code",
                    "idempotency_key",
                    "request_fingerprint",
                    "policy_version",
                    "policy_id",
                    "created_at",
                ],
            ),
            pgtrigger.Trigger(
                name="reference_is_fixed",
                when=pgtrigger.Before,
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition(
                    "OLD.processor_reference IS NOT NULL"
                    " AND OLD.processor_reference IS DISTINCT FROM NEW.processor_reference"
                ),
                func="""
                    RAISE EXCEPTION 'operation % is the provider''s %, once known', OLD.id, OLD.processor_reference
                        USING ERRCODE = 'integrity_constraint_violation';
                """,
            ),
            pgtrigger.Trigger(
                name="conserves_money",  # by its name it comes first: the payment is locked before the workflow
                when=pgtrigger.Before,
                operation=pgtrigger.Insert | pgtrigger.UpdateOf("state"),  # type: ignore[no-untyped-call]
                declare=[("frozen_since", "timestamptz"), ("rest", "numeric")],
                func=guard(),
            ),
            pgtrigger.Trigger(
                name="freezes_overdrawn",  # an abandoned operation that moved money after all
                when=pgtrigger.After,
                timing=pgtrigger.Deferred,
                operation=pgtrigger.UpdateOf("state"),  # type: ignore[no-untyped-call]
                condition=pgtrigger.Condition(
                    f"OLD.state IN ({_ABANDONED}) AND NEW.state NOT IN ({_ABANDONED})"
                ),
                func=freeze(),
            ),
            pgtrigger.Trigger(
                name="one_unresolved",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert,
                func=f"""
                    PERFORM 1 FROM refund_workflows w WHERE w.id = NEW.workflow_id FOR NO KEY UPDATE;
                    IF EXISTS (
                        SELECT 1 FROM refund_operations o
                        WHERE o.workflow_id = NEW.workflow_id AND o.state NOT IN ({_ABANDONED})
                    ) THEN
                        RAISE EXCEPTION 'workflow % has an operation that is not abandoned', NEW.workflow_id
                            USING ERRCODE = 'integrity_constraint_violation';
                    END IF;
                    RETURN NEW;
                """,
            ),
        ]

    def __str__(self) -> str:
        return self.pk

    @property
    def event_ids(self) -> dict[str, str]:
        """The instruction's own id, and the request that it belongs to."""
        return {"workflow_id": self.workflow_id, "refund_operation_id": self.pk}

    @transition(field=state, source=_T.sources_of(_S.CREATED), target=_S.CREATED)
    def return_to_created(self) -> None:
        """Every attempt so far provably reached nobody."""

    @transition(field=state, source=_T.sources_of(_S.SUBMITTED), target=_S.SUBMITTED)
    def submit(self) -> None:
        """An attempt row exists and the call has begun (stage 10)."""

    @transition(field=state, source=_T.sources_of(_S.PROVIDER_PENDING), target=_S.PROVIDER_PENDING)
    def await_provider(self) -> None:
        """The provider holds the refund and has not finished it."""

    @transition(field=state, source=_T.sources_of(_S.STATUS_UNKNOWN), target=_S.STATUS_UNKNOWN)
    def lose_answer(self) -> None:
        """The outcome outside is not known."""

    @transition(field=state, source=_T.sources_of(_S.CONFIRMED_ABSENT), target=_S.CONFIRMED_ABSENT)
    def confirm_absent(self) -> None:
        """Recorded evidence satisfies the contract's absence rule."""

    @transition(field=state, source=_T.sources_of(_S.MANUAL_REVIEW), target=_S.MANUAL_REVIEW)
    def hand_to_people(self) -> None:
        """Evidence is inconclusive or contradicts itself; the amount stays reserved."""

    @transition(field=state, source=_T.sources_of(_S.COMPLETED), target=_S.COMPLETED)
    def complete(self) -> None:
        """The provider's own object says that the refund was made."""

    @transition(field=state, source=_T.sources_of(_S.REJECTED), target=_S.REJECTED)
    def reject(self) -> None:
        """A definite refusal that belongs to this operation."""

    @transition(field=state, source=_T.sources_of(_S.FAILED), target=_S.FAILED)
    def fail(self) -> None:
        """The provider accepted the refund and then failed it."""

    @transition(field=state, source=_T.sources_of(_S.CANCELLED), target=_S.CANCELLED)
    def cancel(self) -> None:
        """Never executed, and abandoned."""
