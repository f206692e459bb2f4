"""Nudges: work that can go on now, as plain values. Only interfaces and tasks turn them into messages.

Losing a nudge costs time and nothing else: the scanners of ``refunds.recovery`` find the same work in the rows.
"""

from dataclasses import dataclass, field

from refunds.states import CheckCause


@dataclass(frozen=True, slots=True)
class Nudge:
    """A task's name and its ids."""

    task: str
    kwargs: dict[str, str] = field(default_factory=dict)


DELIVER = Nudge("deliver_notifications")


def advance(workflow_id: str) -> Nudge:
    """Return the nudge that takes a workflow on."""
    return Nudge("advance_workflow", {"workflow_id": workflow_id})


def read_message(workflow_id: str) -> Nudge:
    """Return the nudge that has a model read what a customer wrote without naming an order."""
    return Nudge("read_message", {"workflow_id": workflow_id})


def submit(operation_id: str) -> Nudge:
    """Return the nudge that submits an operation."""
    return Nudge("submit_operation", {"operation_id": operation_id})


def reconcile(operation_id: str) -> Nudge:
    """Return the nudge that looks an operation up at the provider."""
    return Nudge("reconcile_operation", {"operation_id": operation_id})


def reconcile_now(operation_id: str) -> Nudge:
    """Return the nudge that looks an operation up because a person asked, whether or not a check is due."""
    return Nudge("reconcile_operation", {"operation_id": operation_id, "cause": CheckCause.PERSON})


def reconcile_named(operation_id: str, reference: str) -> Nudge:
    """Return the nudge that looks an operation up under the provider's reference that a person gave."""
    kwargs = {"operation_id": operation_id, "cause": CheckCause.PERSON, "seen_reference": reference}
    return Nudge("reconcile_operation", dict(kwargs))


def reconcile_late(operation_id: str) -> Nudge:
    """Return the nudge that looks for late evidence about an operation that people own."""
    return Nudge("reconcile_operation", {"operation_id": operation_id, "cause": CheckCause.LATE})


def apply_webhook(webhook_id: int) -> Nudge:
    """Return the nudge that finds out what a stored event of the provider means."""
    return Nudge("apply_webhook", {"webhook_id": str(webhook_id)})
