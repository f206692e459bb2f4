"""The invariants that rows can prove or break, each as one question to PostgreSQL that must find nothing.

A question returns the ids of what breaks it, as text. What rows can't show (that a foreign order and a missing one
look alike, that nothing personal is logged) is left to tests.
"""

from dataclasses import dataclass
from typing import Final

from refunds.models.conservation import sums_of
from refunds.states import (
    ABANDONED_OPERATION_STATES,
    HUMAN_WORKFLOW_STATES,
    TERMINAL_WORKFLOW_STATES,
    UNRESOLVED_OPERATION_STATES,
    OperationState,
    WorkflowState,
)

NEWEST: Final = 5000  # rows of one table that a question about recent activity starts from


@dataclass(frozen=True, slots=True)
class InvariantCheck:
    """One question: its name, the invariant it belongs to, what a row that it finds means, and the SQL."""

    name: str
    invariant: str
    meaning: str
    sql: str


def _codes(states: frozenset[WorkflowState] | frozenset[OperationState]) -> list[str]:
    return sorted(str(state) for state in states)


PARAMETERS: Final = {
    "abandoned": _codes(ABANDONED_OPERATION_STATES),
    "human": _codes(HUMAN_WORKFLOW_STATES),
    "terminal": _codes(TERMINAL_WORKFLOW_STATES),
    "unresolved": _codes(UNRESOLVED_OPERATION_STATES),
}
# Payments with recent activity; the nightly comparison asks about all of them.
ACTIVE_PAYMENTS: Final = f"""
    SELECT payment_id FROM (SELECT * FROM ledger_entries ORDER BY id DESC LIMIT {NEWEST}) entries
    WHERE kind <> 'AUTHORISATION' AND (kind <> 'CAPTURE' OR status <> 'SUCCEEDED')
    UNION SELECT payment_id FROM (SELECT payment_id FROM refund_operations ORDER BY id DESC LIMIT {NEWEST}) newest
    UNION SELECT payment_id FROM (SELECT payment_id FROM refund_operations
                                  WHERE state = ANY(%(unresolved)s) LIMIT {NEWEST}) waiting"""  # noqa: S608 - our own
OVERDRAWN_PAYMENTS: Final = f"""
    SELECT p.id FROM ({ACTIVE_PAYMENTS}) active JOIN ledger_payments p ON p.id = active.payment_id,
           LATERAL ({sums_of("p.id")}) sums
    WHERE p.frozen_at IS NULL AND sums.overdrawn > 0"""  # noqa: S608 - our own
_HISTORY: Final = """
    WITH told AS (
        SELECT e.{subject} AS row_id, e.state_sequence, e.from_state, e.to_state,
               lag(e.to_state) OVER w AS before,
               row_number() OVER w AS place,
               row_number() OVER (PARTITION BY e.{subject} ORDER BY e.state_sequence DESC) AS from_last
        FROM {events} e WHERE e.kind = 'TRANSITION'
        WINDOW w AS (PARTITION BY e.{subject} ORDER BY e.state_sequence))
    SELECT DISTINCT s.id FROM {states} s LEFT JOIN told t ON t.row_id = s.id
    WHERE t.row_id IS NULL OR t.place <> t.state_sequence OR t.from_state <> coalesce(t.before, '')
       OR (t.from_last = 1 AND (t.to_state <> s.state OR t.state_sequence <> s.state_sequence))"""


def _history(name: str, states: str, events: str, subject: str) -> InvariantCheck:
    return InvariantCheck(
        name=name,
        invariant="I4",
        meaning=f"The events of a row of {states} have a gap, or do not lead to the state that it is in.",
        sql=_HISTORY.format(states=states, events=events, subject=subject),
    )


CHECKS: Final = (
    InvariantCheck(
        "RESERVED_ABOVE_CAPTURED",
        "I1",
        "The operations of a charge that were not abandoned are for more than was captured.",
        f"""SELECT p.id FROM ({ACTIVE_PAYMENTS}) p (id) JOIN refund_operations o ON o.payment_id = p.id
            WHERE o.state <> ALL(%(abandoned)s) GROUP BY p.id
            HAVING sum(o.amount_minor_units) > coalesce((SELECT sum(e.amount_minor_units) FROM ledger_entries e
                WHERE e.payment_id = p.id AND e.kind = 'CAPTURE' AND e.status = 'SUCCEEDED'), 0)""",  # noqa: S608
    ),
    InvariantCheck(
        "NEGATIVE_REMAINING",
        "I1",
        "More of a charge is refunded, pending, reserved or disputed than was captured, and it is not frozen.",
        OVERDRAWN_PAYMENTS,
    ),
    InvariantCheck(
        "REFUND_CLAIMED_TWICE",
        "I1",
        "Two operations claim one refund of the provider.",
        """SELECT min(id) FROM refund_operations WHERE processor_reference IS NOT NULL
           GROUP BY account, processor_reference HAVING count(*) > 1""",
    ),
    InvariantCheck(
        "TWO_OPERATIONS_STAND",
        "I1",
        "A request has more than one operation that was not abandoned, and people have not closed it knowing that.",
        """SELECT workflow_id FROM refund_operations o WHERE state <> ALL(%(abandoned)s) AND NOT EXISTS (
                SELECT 1 FROM refund_workflow_events e JOIN refund_workflows w ON w.id = e.workflow_id
                WHERE e.workflow_id = o.workflow_id AND e.state_sequence = w.state_sequence
                AND e.to_state = 'COMPLETED' AND e.evidence->>'action' = 'CLOSE_AS_COMPLETED')
            GROUP BY workflow_id HAVING count(*) > 1""",
    ),
    InvariantCheck(
        "SENT_WITHOUT_TRACE",
        "I2",
        "An operation counts as never sent although an attempt of it may have reached the provider.",
        """SELECT DISTINCT o.id FROM refund_operations o JOIN gateway_attempts a ON a.operation_id = o.id
           LEFT JOIN gateway_responses r ON r.attempt_id = a.id
           WHERE o.state = 'CREATED' AND r.answer_class IS DISTINCT FROM 'NOT_EXECUTED'""",
    ),
    InvariantCheck(
        "KEY_OR_BODY_CHANGED",
        "I3",
        "Attempts of one operation carry different keys, fingerprints or bodies, or a key that is not its own.",
        """SELECT o.id FROM refund_operations o JOIN gateway_attempts a ON a.operation_id = o.id GROUP BY o.id
           HAVING count(DISTINCT a.request_body_sha256) > 1
               OR bool_or(a.idempotency_key <> o.idempotency_key)
               OR bool_or(a.request_fingerprint <> o.request_fingerprint)
           UNION SELECT id FROM refund_operations WHERE idempotency_key <> 'refund:' || id""",
    ),
    _history("WORKFLOW_HISTORY_BROKEN", "refund_workflows", "refund_workflow_events", "workflow_id"),
    _history("OPERATION_HISTORY_BROKEN", "refund_operations", "refund_operation_events", "operation_id"),
    _history("APPROVAL_HISTORY_BROKEN", "approval_requests", "approval_events", "approval_id"),
    _history("TEXT_HISTORY_BROKEN", "knowledge_documents", "knowledge_document_events", "document_id"),
    InvariantCheck(
        "SENT_AGAIN_UNPROVEN",
        "I5",
        "An operation was sent again after an answer that may hide a refund, without proof that there is none.",
        """SELECT DISTINCT later.operation_id FROM gateway_attempts later
           JOIN gateway_attempts earlier ON earlier.operation_id = later.operation_id
                AND earlier.number = later.number - 1
           LEFT JOIN gateway_responses r ON r.attempt_id = earlier.id
           WHERE r.answer_class IS DISTINCT FROM 'NOT_EXECUTED' AND NOT EXISTS (
               SELECT 1 FROM reconciliation_checks c WHERE c.operation_id = later.operation_id
               AND c.verdict = 'CONFIRMED_ABSENT' AND c.at BETWEEN earlier.started_at AND later.started_at)""",
    ),
    InvariantCheck(
        "COMPLETED_UNBOOKED",
        "I6",
        "A refund counts as completed without the provider's reference or without its ledger entry.",
        """SELECT o.id FROM refund_operations o WHERE o.state = 'COMPLETED' AND NOT EXISTS (
               SELECT 1 FROM ledger_entries e WHERE e.merchant_id = o.merchant_id AND e.account = o.account
               AND e.processor_reference = o.processor_reference AND e.payment_id = o.payment_id
               AND e.kind = 'REFUND' AND e.amount_minor_units = o.amount_minor_units)""",
    ),
    InvariantCheck(
        "MESSAGE_REPEATED",
        "I10",
        "A customer was owed or sent one message twice.",
        """SELECT min(id)::text FROM notifications GROUP BY logical_event_id HAVING count(*) > 1
           UNION SELECT notification_id::text FROM notification_attempts WHERE outcome = 'DELIVERED'
           GROUP BY notification_id HAVING count(*) > 1""",
    ),
    InvariantCheck(
        "COMMAND_CHANGED",
        "I11",
        "An operation is for another amount, charge, currency or merchant than the command that was approved.",
        """SELECT o.id FROM refund_operations o JOIN refund_workflows w ON w.id = o.workflow_id
           JOIN approval_requests a ON a.id = o.approval_id
           WHERE a.command->>'amount_minor_units' <> o.amount_minor_units::text
              OR a.command->>'currency' <> o.currency OR a.command->>'payment' <> o.payment_reference
              OR a.command->>'workflow_id' <> o.workflow_id OR w.merchant_id <> o.merchant_id""",
    ),
    InvariantCheck(
        "OPERATION_UNAPPROVED",
        "I12",
        "An operation has no approval that was used for it, or one of another fingerprint.",
        """SELECT o.id FROM refund_operations o LEFT JOIN approval_requests a ON a.id = o.approval_id
           WHERE a.id IS NULL OR a.state NOT IN ('CONSUMED', 'VOIDED')
              OR a.request_fingerprint <> o.request_fingerprint OR a.subject_id <> o.workflow_id
              OR a.expires_at <= o.created_at""",
    ),
    InvariantCheck(
        "MAKER_APPROVED",
        "I12",
        "Whoever made a command voted on it.",
        """SELECT DISTINCT a.id FROM approval_requests a JOIN approval_events e ON e.approval_id = a.id
           WHERE e.voter_id <> '' AND e.voter_id = a.maker_id""",
    ),
    InvariantCheck(
        "GIVEN_UP_BY_ONE",
        "I12",
        "People gave an operation up without evidence that two of them agreed on.",
        f"""SELECT DISTINCT e.operation_id
           FROM (SELECT * FROM refund_operation_events ORDER BY id DESC LIMIT {NEWEST}) e
           WHERE e.from_state = 'MANUAL_REVIEW' AND e.to_state = 'CANCELLED' AND NOT EXISTS (
               SELECT 1 FROM approval_requests a JOIN evidence_attachments t ON t.approval_id = a.id
               WHERE a.subject_kind = 'EVIDENCE' AND a.subject_id = e.operation_id AND a.state = 'CONSUMED')""",  # noqa: S608
    ),
    InvariantCheck(
        "TOO_FEW_APPROVED",
        "I12",
        "A command was granted by fewer people than it needs, and by no rule.",
        """SELECT a.id FROM approval_requests a WHERE a.state IN ('GRANTED', 'CONSUMED') AND a.rule = ''
           AND (SELECT count(*) FROM approval_events e WHERE e.approval_id = a.id AND e.voter_id <> '')
               < a.approvals_needed""",
    ),
    InvariantCheck(
        "TEXT_UNAPPROVED",
        "I12",
        "A house text is in use without an approval that another person than its uploader gave for exactly it.",
        """SELECT d.id FROM knowledge_documents d WHERE d.state = 'ACTIVE' AND NOT EXISTS (
               SELECT 1 FROM approval_requests a JOIN approval_events e ON e.approval_id = a.id
               WHERE a.subject_kind = 'POLICY' AND a.subject_id = d.id AND a.merchant_id = d.merchant_id
               AND a.state = 'CONSUMED' AND a.maker_id = d.uploaded_by
               AND a.command->>'content_sha256' = d.content_sha256 AND e.voter_id NOT IN ('', d.uploaded_by))""",
    ),
    InvariantCheck(
        "NOBODY_OWNS_IT",
        "ownership",
        "A request waits for people, and no case tells them of it; or a case is open about one that ended.",
        """SELECT w.id FROM refund_workflows w WHERE w.state = ANY(%(human)s) AND NOT EXISTS (
                SELECT 1 FROM review_cases c WHERE c.subject_id = w.id AND c.closed_at IS NULL)
            UNION SELECT w.id FROM refund_workflows w JOIN review_cases c ON c.subject_id = w.id
            WHERE w.state = ANY(%(terminal)s) AND c.closed_at IS NULL""",
    ),
    InvariantCheck(
        "SLOT_KEPT",
        "ownership",
        "A request that ended keeps its customer from asking again about the order.",
        "SELECT id FROM refund_workflows WHERE state = ANY(%(terminal)s) AND open_slot IS NOT NULL",
    ),
)
