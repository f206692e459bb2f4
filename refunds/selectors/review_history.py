"""What happened to a case: operations with calls and checks, events, and messages owed to the customer."""

import json
from collections.abc import Iterable
from typing import Any

from django.db.models import Prefetch

from approvals.models import ApprovalEvent, ApprovalRequest
from approvals.states import ApprovalState
from ledger.models import ErasableText, EventKind, EventModel
from notifications.models import Notification
from refunds.models import (
    GatewayAttempt,
    ReconciliationCheck,
    RefundOperation,
    RefundOperationEvent,
    RefundWorkflow,
)
from refunds.selectors.review_charges import money_text
from refunds.selectors.review_records import (
    AttemptFact,
    CheckFact,
    EventFact,
    OperationFacts,
    ProposalAboutOperation,
    ReceiptFact,
)

_NOTED_STAGES = frozenset(
    {"REVIEW", "OPEN_WORKFLOW"}
)  # where staff may write a note; votes tell theirs themselves


def text_pairs(document: Any) -> tuple[tuple[str, str], ...]:
    """Return a stored JSON document as keys and texts, by key: the database keeps no order of its own."""
    if not isinstance(document, dict):
        return (("value", _text(document)),)
    return tuple((str(key), _text(value)) for key, value in sorted(document.items()))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def list_operations(
    operations: list[RefundOperation], proposals: dict[str, tuple[ProposalAboutOperation, ...]]
) -> tuple[OperationFacts, ...]:
    """Return the operations with every attempt, answer and reconciliation check, and what was proposed about each."""
    attempts = list(
        GatewayAttempt.objects.filter(operation__in=operations)
        .select_related("response")
        .order_by("started_at", "number")
    )
    checks = list(ReconciliationCheck.objects.filter(operation__in=operations).order_by("number"))
    return tuple(
        OperationFacts(
            operation_id=operation.pk,
            state=str(operation.state),
            amount=money_text(operation.amount_minor_units, operation.currency),
            payment_reference=operation.payment_reference,
            idempotency_key=operation.idempotency_key,
            processor_reference=operation.processor_reference or "",
            fingerprint=operation.request_fingerprint,
            next_check_at=operation.next_check_at,
            attempts=tuple(_attempt(a) for a in attempts if a.operation_id == operation.pk),
            checks=tuple(_check(c) for c in checks if c.operation_id == operation.pk),
            proposals=proposals.get(operation.pk, ()),
        )
        for operation in operations
    )


def _attempt(attempt: GatewayAttempt) -> AttemptFact:
    response = getattr(attempt, "response", None)
    error = " ".join(filter(None, (response.error_type, response.error_code))) if response else ""
    return AttemptFact(
        attempt_id=attempt.pk,
        number=attempt.number,
        started_at=attempt.started_at,
        answer_class=response.answer_class if response else "",
        http_status=response.http_status if response else None,
        error=error,
        processor_reference=response.processor_reference if response else "",
        provider_status=response.provider_status if response else "",
        detail=response.detail if response else "",
        replayed=response.replayed if response else False,
        received_at=response.received_at if response else None,
    )


def _check(check: ReconciliationCheck) -> CheckFact:
    return CheckFact(
        number=check.number,
        verdict=check.verdict,
        at=check.at,
        sources=tuple(
            ", ".join(f"{key}: {text}" for key, text in text_pairs(source)) for source in check.sources
        ),
        explanation=tuple(str(line) for line in check.explanation),
    )


def list_timeline(
    events: Iterable[EventModel],
    approvals: list[ApprovalRequest],
    approval_events: Iterable[ApprovalEvent],
    operations: list[RefundOperation],
) -> tuple[EventFact, ...]:
    """Return every event in order of time; while a decision is open, who voted and why stays unshown."""
    pending = {approval.pk for approval in approvals if approval.state == ApprovalState.PENDING}
    shown = [
        event
        for event in approval_events
        if event.kind == EventKind.TRANSITION or event.approval_id not in pending
    ]
    about_operations = list(
        RefundOperationEvent.objects.filter(operation__in=operations).order_by("at", "pk")
    )
    events = list(events)
    notes = _notes(event for event in shown if event.voter_id)
    work_notes = _notes(event for event in (*events, *about_operations) if event.stage in _NOTED_STAGES)
    facts = [
        *(_event("request", event, work_notes) for event in events),
        *(_event("approval", event, notes) for event in shown),
        *(_event("operation", event, work_notes) for event in about_operations),
    ]
    return tuple(sorted(facts, key=lambda fact: fact.at))


def _notes(events: Iterable[EventModel]) -> dict[int, str]:
    """Return what staff wrote beside these events, by the id of the text; erased texts are empty."""
    ids = [event.evidence["note_text"] for event in events if "note_text" in event.evidence]
    return dict(ErasableText.objects.filter(pk__in=ids).values_list("pk", "body")) if ids else {}


def _event(subject: str, event: EventModel, notes: dict[int, str] | None = None) -> EventFact:
    noted = event.kind == EventKind.RECORD or event.stage in _NOTED_STAGES
    return EventFact(
        at=event.at,
        subject=subject,
        from_state=event.from_state,
        to_state=event.to_state,
        stage=event.stage,
        actor=f"{event.actor_type} {event.actor_id}",
        reason=event.reason,
        policy_version=event.policy_version,
        note=(notes or {}).get(event.evidence.get("note_text"), "") if noted else "",
    )


def list_receipts(workflow: RefundWorkflow) -> tuple[ReceiptFact, ...]:
    """Return the messages that the customer is owed about the request, and how far each one got."""
    owed = Notification.objects.filter(subject_id=workflow.pk).order_by("created_at", "pk")
    facts = []
    for message in owed.prefetch_related(Prefetch("attempts", to_attr="tried")):
        tried = sorted(message.tried, key=lambda attempt: attempt.number)
        state = "DELIVERED" if message.delivered_at else "FAILED" if message.failed_at else "WAITING"
        facts.append(
            ReceiptFact(
                logical_event_id=message.logical_event_id,
                state=state,
                attempts=len(tried),
                last_outcome=tried[-1].outcome if tried else "",
                next_attempt_at=message.next_attempt_at,
            )
        )
    return tuple(facts)
