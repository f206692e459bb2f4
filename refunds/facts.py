"""Facts from rows: the one way from stored rows to what pages, API and mail may say."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ledger.snapshot import EntryKind, EntryStatus
from notifications.catalogue import Statement, statement_for
from notifications.facts import Receipt, StatedEntry, StatedFacts
from notifications.timeline import MESSAGE, RECEIPT, RECORDS, Line, Subject, line_for
from refunds.gateways.port import AnswerClass
from refunds.models import RefundOperation, RefundWorkflow, RefundWorkflowEvent
from refunds.selectors.requests import AnswerRow, ReceiptRow, RequestRows, load_rows, load_stated_rows
from refunds.states import (
    ABANDONED_OPERATION_STATES,
    SCANNED_OPERATION_STATES,
    OperationState,
    Origin,
    WorkflowState,
)

ATTACHED: Final = "ATTACHED"  # another request took over the words of this one
# How lines of one moment stand: only a request that is past these states moves because of a refund operation.
_BEFORE, _REFUND, _BECAUSE, _LAST = range(4)
_MADE: Final = frozenset({OperationState.COMPLETED})
_BEFORE_ANY_REFUND: Final = frozenset(
    {
        "",
        WorkflowState.EVIDENCE_PENDING,
        WorkflowState.EVIDENCE_VERIFIED,
        WorkflowState.ACTION_PROPOSED,
        WorkflowState.PROPOSAL_VALIDATED,
        WorkflowState.PROPOSAL_REJECTED,
        WorkflowState.REQUIRES_HUMAN_APPROVAL,
        WorkflowState.APPROVED,
    }
)


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """One line of a request's story."""

    at: datetime
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class RequestReport:
    """Everything that an interface shows of one request."""

    workflow: RefundWorkflow
    operation: RefundOperation | None
    facts: StatedFacts
    statement: Statement
    timeline: tuple[TimelineLine, ...]


def report_requests(workflows: Sequence[RefundWorkflow]) -> list[RequestReport]:
    """Return a report for each workflow, in a fixed number of queries."""
    rows = load_rows(workflows)
    return [_report(workflow, rows[workflow.pk]) for workflow in workflows]


def report_new_request(first_event: RefundWorkflowEvent) -> RequestReport:
    """Return the report of a request as it was opened just now, without a query: one event, and the words with it."""
    return _report(first_event.workflow, RequestRows(events=[first_event], messages_at=[first_event.at]))


def stated_facts(workflow: RefundWorkflow, *, operation: RefundOperation | None = None) -> StatedFacts:
    """Return the facts of one workflow as it stands in this transaction.

    For the message that is owed now: what became of a receipt is not among them. A given ``operation`` is taken as
    it is in memory, instead of the row of the same id.
    """
    rows = load_stated_rows(workflow)
    for place, row in enumerate(rows.operations):
        if operation is not None and row.pk == operation.pk:
            operation.payment = row.payment
            rows.operations[place] = operation
    return _facts(workflow, rows)


def _report(workflow: RefundWorkflow, rows: RequestRows) -> RequestReport:
    facts = _facts(workflow, rows)
    return RequestReport(
        workflow=workflow,
        operation=_leading(rows.operations),
        facts=facts,
        statement=statement_for(facts),
        timeline=_timeline(workflow, rows),
    )


def _leading(operations: list[RefundOperation]) -> RefundOperation | None:
    """Return the newest operation that may have moved money, else the newest."""
    standing = [row for row in operations if row.state not in ABANDONED_OPERATION_STATES]
    return next(reversed(standing or operations), None)


def _facts(workflow: RefundWorkflow, rows: RequestRows) -> StatedFacts:
    leading = _leading(rows.operations)
    last = next(reversed(rows.events), None)
    open_cases = [case for case in rows.cases if case.closed_at is None]
    ticket_case = next(reversed(open_cases or rows.cases), None)
    return StatedFacts(
        workflow_state=workflow.state,
        reference=workflow.reference,
        order_number=workflow.order.number if workflow.order is not None else "",
        requested_at=workflow.created_at,
        origin=workflow.origin,
        state_reason=last.reason if last else "",
        state_since=last.at if last else None,
        attached_to=last.evidence.get("reference", "") if last and last.reason == ATTACHED else "",
        answer_by=workflow.next_attempt_at if _waits_for_order(workflow) else None,
        finding=workflow.finding,
        reason_code=workflow.reason_code,
        ticket=ticket_case.ticket if ticket_case else None,
        case_kind=open_cases[-1].kind if open_cases else "",
        entries=_entries(workflow),
        other_order_numbers=_other_orders(workflow),
        next_check_at=_next_check_at(workflow, leading),
        **(_operation_facts(leading, rows) if leading else _command_facts(workflow, rows)),
    )


def _command_facts(workflow: RefundWorkflow, rows: RequestRows) -> dict[str, Any]:
    # When the desk read the payments, not when their source last confirmed them: that may be before the request.
    read = [event.at for event in rows.events if event.to_state == WorkflowState.EVIDENCE_VERIFIED]
    return {
        "amount_minor_units": workflow.amount_minor_units,
        "currency": workflow.currency,
        "last_checked_at": max(read, default=None),
    }


def _operation_facts(operation: RefundOperation, rows: RequestRows) -> dict[str, Any]:
    others = [row for row in rows.operations if row.pk != operation.pk]
    answer = rows.answers.get(operation.pk)
    completed_at = rows.completed_at.get(operation.pk)
    return {
        "operation_state": operation.state,
        "other_operation_stands": any(row.state not in ABANDONED_OPERATION_STATES for row in others),
        "other_refunds": tuple(
            _refund_made(row, rows.completed_at.get(row.pk, row.updated_at))
            for row in others
            if row.state in _MADE
        ),
        "provider_answered": answer is not None and answer.http_status is not None,
        "refused_before_sending": _refused_before_sending(answer),
        "amount_minor_units": operation.amount_minor_units,
        "currency": operation.currency,
        "processor_reference": operation.processor_reference,
        "card_last4": operation.payment.method_last4,
        "completed_at": completed_at,
        "last_checked_at": rows.last_check_at.get(operation.pk) or completed_at,
        "receipt": _receipt(rows.receipts.get(operation.pk)),
    }


def _refund_made(operation: RefundOperation, completed_at: datetime) -> StatedEntry:
    return StatedEntry(
        kind=EntryKind.REFUND,
        status=EntryStatus.SUCCEEDED,
        processor_reference=operation.processor_reference or "",
        amount_minor_units=operation.amount_minor_units,
        currency=operation.currency,
        occurred_at=completed_at,
    )


def _refused_before_sending(answer: AnswerRow | None) -> bool:
    return answer is not None and answer.answer_class == AnswerClass.REFUSED and not answer.may_have_left


def _receipt(row: ReceiptRow | None) -> Receipt:
    if row is None:
        return Receipt.NONE
    if row.delivered_at is not None:
        return Receipt.DELIVERED
    if row.failed_at is not None:
        return Receipt.FAILED
    return Receipt.DELAYED if row.attempts else Receipt.QUEUED


def _next_check_at(workflow: RefundWorkflow, operation: RefundOperation | None) -> datetime | None:
    """Return the time that stands in the schedule, which promises a look and no outcome."""
    if operation is not None and operation.state in SCANNED_OPERATION_STATES:
        return operation.next_check_at
    if workflow.state != WorkflowState.EVIDENCE_PENDING or _waits_for_order(workflow):
        return None
    return workflow.next_attempt_at


def _waits_for_order(workflow: RefundWorkflow) -> bool:
    return workflow.order_id is None and workflow.state == WorkflowState.EVIDENCE_PENDING


def _entries(workflow: RefundWorkflow) -> tuple[StatedEntry, ...]:
    """Return the ledger rows that the finding rests on, from the stored snapshot."""
    proof = set(workflow.finding_evidence)
    payments = (workflow.snapshot or {}).get("order", {}).get("payments", [])
    return tuple(
        StatedEntry(
            kind=entry["kind"],
            status=entry["status"],
            processor_reference=entry["processor_reference"],
            amount_minor_units=int(entry["amount_minor_units"]),  # canonical JSON holds huge integers as text
            currency=entry["currency"],
            occurred_at=datetime.fromisoformat(entry["occurred_at"]),
        )
        for payment in payments
        for entry in payment["entries"]
        if entry["processor_reference"] in proof
    )


def _other_orders(workflow: RefundWorkflow) -> tuple[str, ...]:
    """Return the customer's other orders whose charges the finding rests on."""
    proof = set(workflow.finding_evidence)
    siblings = (workflow.snapshot or {}).get("order", {}).get("siblings", [])
    return tuple(
        sorted(
            sibling["number"]
            for sibling in siblings
            if any(capture["processor_reference"] in proof for capture in sibling["captures"])
        )
    )


def _timeline(workflow: RefundWorkflow, rows: RequestRows) -> tuple[TimelineLine, ...]:
    """Return the told events by time; at one time, a refund's stand before what the request did because of them."""
    by_staff = workflow.origin == Origin.STAFF
    told: list[tuple[datetime, int, Line | None]] = [
        (
            event.at,
            _BEFORE if event.from_state in _BEFORE_ANY_REFUND else _BECAUSE,
            line_for(
                Subject.REQUEST,
                from_state=event.from_state,
                to_state=event.to_state,
                reason=event.reason,
                by_staff=by_staff,
            ),
        )
        for event in rows.events
    ]
    told += [(event.at, _BEFORE, RECORDS.get(event.reason)) for event in rows.records]
    unsent = {pk for pk, answer in rows.answers.items() if _refused_before_sending(answer)}
    told += [
        (
            event.at,
            _REFUND,
            line_for(
                Subject.REFUND,
                from_state=event.from_state,
                to_state=event.to_state,
                unsent=event.operation_id in unsent,
            ),
        )
        for event in rows.operation_events
    ]
    told += [(at, _BEFORE, MESSAGE) for at in rows.messages_at[0 if by_staff else 1 :]]  # the first opened it
    told += [(row.delivered_at, _LAST, RECEIPT) for row in rows.receipts.values() if row.delivered_at]
    return tuple(
        TimelineLine(at=at, key=line.key, text=line.text)
        for at, _, line in sorted(told, key=lambda item: item[:2])
        if line is not None
    )
