"""Base classes of rows with a state, and of the append-only events that explain each state."""

from typing import TYPE_CHECKING, Any, ClassVar

from django.db import models
from django.db.models import Q
from django_fsm import ConcurrentTransitionMixin

from ledger.models.append_only import AppendOnlyModel


class EventKind(models.TextChoices):
    """Whether an event is part of the fold that gives the current state."""

    TRANSITION = "TRANSITION"
    RECORD = "RECORD"  # a fact worth keeping that moves no state: a vote, an order that was named later


if TYPE_CHECKING:

    class _GuardedSave(models.Model):
        """The mixin as type checkers may see it: its own types hide the model's managers."""

        state: str

        class Meta:
            abstract = True

        def get_available_state_transitions(self) -> Any: ...

        def _update_initial_state(self) -> None: ...

else:
    _GuardedSave = ConcurrentTransitionMixin


class StatefulModel(_GuardedSave, models.Model):
    """A row whose ``state`` only ``ledger.transitions`` moves; the database refuses everything else.

    ``state_sequence`` rises by one with each transition and names the event that explains it.
    """

    event_model: ClassVar[type["EventModel"]]
    topic: ClassVar[str]

    state_sequence = models.PositiveIntegerField(default=1)

    class Meta:
        abstract = True

    @property
    def event_ids(self) -> dict[str, str]:
        """The ids by which this row's events are found, as they are published and logged."""
        return {f"{self.topic}_id": str(self.pk)}


class EventModel(AppendOnlyModel):
    """One event of a stateful row: what moved, who moved it, on which evidence, under which versions."""

    subject_field: ClassVar[str]

    kind = models.CharField(max_length=12, choices=EventKind.choices, default=EventKind.TRANSITION)
    state_sequence = models.PositiveIntegerField(null=True)
    from_state = models.CharField(max_length=32, blank=True)
    to_state = models.CharField(max_length=32, blank=True)
    stage = models.CharField(max_length=40)
    actor_type = models.CharField(max_length=20)
    actor_id = models.CharField(max_length=80)
    reason = models.CharField(max_length=80, blank=True)
    evidence = models.JSONField(default=dict)
    policy_version = models.CharField(max_length=80, blank=True)
    system_version = models.CharField(max_length=40)
    trace_id = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        abstract = True
        constraints = [
            models.CheckConstraint(
                condition=(
                    Q(kind=EventKind.TRANSITION, state_sequence__isnull=False) & ~Q(to_state="")
                    | Q(kind=EventKind.RECORD, state_sequence__isnull=True, from_state="", to_state="")
                ),
                name="%(class)s_kind_and_sequence",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.from_state or '·'} -> {self.to_state}" if self.to_state else self.reason
