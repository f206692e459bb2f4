"""What operators are shown, and the query behind each number.

What waits is read through partial indexes or small tables. What happened is read from the newest rows of append-only
tables by their key, never more than ``NEWEST``: such numbers are gauges over a window and not totals, so that every
process gives the same answer and no scrape gets slower with the years. Labels come from closed sets alone: a value
that this version does not know is ``OTHER``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from approvals.states import CaseKind
from refunds.gateways.port import AnswerClass
from refunds.proposers.check_results import CheckRule
from refunds.proposers.deterministic import DETERMINISTIC
from refunds.proposers.port import DeclinedKind
from refunds.proposers.schema import ProposalClass
from refunds.proposers.staff_form import STAFF
from refunds.states import (
    ABANDONED_OPERATION_STATES,
    TERMINAL_WORKFLOW_STATES,
    UNRESOLVED_OPERATION_STATES,
    CheckVerdict,
    DifferenceKind,
    OperationState,
    WebhookOutcome,
    WorkerFault,
    WorkflowState,
)

NEWEST: Final = 5000  # rows that one number about the recent past may read
OTHER: Final = "OTHER"
LONG, QUARTER = timedelta(minutes=15), timedelta(minutes=15)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
_OPEN_WORKFLOW_STATES: Final = frozenset(WorkflowState) - TERMINAL_WORKFLOW_STATES


@dataclass(frozen=True, slots=True)
class Reading:
    """One query; each row is the label, if there is one, and then the numbers in the order of their names.

    ``ago`` are the moments that the query takes as parameters, as distances from now.
    """

    sql: str
    ago: tuple[timedelta, ...]
    numbers: tuple[tuple[str, str], ...]  # name and meaning
    label: str = ""
    values: Iterable[str] = ()


_NOW: Final = timedelta(0)
_FAULTS: Final = ", ".join(f"'{fault}'" for fault in WorkerFault)
_DECLINED: Final = ", ".join(f"'{kind}'" for kind in DeclinedKind)
_ENDED: Final = ", ".join(f"'{state}'" for state in sorted(ABANDONED_OPERATION_STATES))


def _recent(
    *, name: str, meaning: str, rows: str, label: str, values: Iterable[str], window: timedelta
) -> Reading:
    """Count the newest rows within a window; ``rows`` selects ``(label, at)``, newest first."""
    sql = (
        f"SELECT label, count(*) FROM ({rows} LIMIT {NEWEST}) newest (label, at) WHERE at > %s GROUP BY label"  # noqa: S608 - our own SQL
    )
    return Reading(sql, (window,), ((name, meaning),), label, values)


def _waiting(*, name: str, meaning: str, table: str, states: Iterable[str]) -> Reading:
    """Count the rows in states that wait, and find how long the first of them has waited."""
    sql = f"""
        SELECT state, count(*), extract(epoch FROM %s - min(updated_at)), count(*) FILTER (WHERE updated_at < %s)
        FROM {table} WHERE state IN ({", ".join(f"'{state}'" for state in sorted(states))}) GROUP BY state
    """  # noqa: S608 - our own tables and states
    numbers = (
        (name, meaning),
        (f"{name}_oldest_seconds", "How long the oldest of them has been in its state."),
        (f"{name}_waiting_long", "How many of them have been in their state for over 15 minutes."),
    )
    return Reading(sql, (_NOW, LONG), numbers, "state", states)


READINGS: Final = (
    _waiting(
        name="operations",
        meaning="Refund operations that are not resolved, by state.",
        table="refund_operations",
        states=UNRESOLVED_OPERATION_STATES,
    ),
    _waiting(
        name="workflows",
        meaning="Requests that are open, by state.",
        table="refund_workflows",
        states=_OPEN_WORKFLOW_STATES,
    ),
    Reading(
        """
        SELECT kind, count(*), extract(epoch FROM %s - min(opened_at)), count(*) FILTER (WHERE due_at < %s),
               count(*) FILTER (WHERE claimed_by = '' OR claimed_until < %s)
        FROM review_cases WHERE closed_at IS NULL GROUP BY kind
        """,
        (_NOW, _NOW, _NOW),
        (
            ("review_cases", "Open cases, by the people who own them."),
            ("review_cases_oldest_seconds", "How long the oldest of them has been open."),
            ("review_cases_overdue", "How many of them are past the time that was promised."),
            ("review_cases_unclaimed", "How many of them nobody works on."),
        ),
        "kind",
        CaseKind,
    ),
    Reading(
        f"""
        SELECT count(*), extract(epoch FROM %s - min(newest.at))
        FROM (SELECT id, at FROM audit_outbox ORDER BY id DESC LIMIT {NEWEST}) newest
        LEFT JOIN audit_publications published ON published.outbox_id = newest.id
        WHERE published.outbox_id IS NULL
        """,  # noqa: S608 - a number of ours
        (_NOW,),
        (
            (
                "audit_outbox_unpublished",
                f"Audit events that wait to be published; at most {NEWEST} are counted.",
            ),
            ("audit_outbox_lag_seconds", "How old the oldest of them is."),
        ),
    ),
    Reading(
        """
        SELECT count(*) FILTER (WHERE next_attempt_at <= %s), extract(epoch FROM %s - min(next_attempt_at)),
               extract(epoch FROM %s - min(created_at))
        FROM notifications WHERE next_attempt_at IS NOT NULL
        """,
        (_NOW, _NOW, _NOW),
        (
            ("notifications_due", "Messages whose next attempt is due."),
            ("notifications_overdue_seconds", "How long the longest due of them has been due."),
            (
                "notifications_undelivered_oldest_seconds",
                "How old the oldest message is that is still tried.",
            ),
        ),
    ),
    Reading(
        f"""
        SELECT count(*) FROM (SELECT failed_at FROM notifications ORDER BY id DESC LIMIT {NEWEST}) newest
        WHERE failed_at > %s
        """,  # noqa: S608 - a number of ours
        (DAY,),
        (("notifications_failed_recent", "Messages that were given up in the last day."),),
    ),
    _recent(
        name="notification_attempts_recent",
        meaning="Attempts to deliver a message in the last hour, by how they ended.",
        rows="SELECT outcome, at FROM notification_attempts ORDER BY id DESC",
        label="outcome",
        values=("DELIVERED", "TRANSIENT", "PERMANENT"),
        window=HOUR,
    ),
    _recent(
        name="gateway_answers_recent",
        meaning="What submissions taught in the last 15 minutes.",
        rows="SELECT answer_class, received_at FROM gateway_responses ORDER BY attempt_id DESC",
        label="answer_class",
        values=AnswerClass,
        window=QUARTER,
    ),
    _recent(
        name="gateway_conflicts_recent",
        meaning="Answers of the last 15 minutes, by whether they were a 409; such an answer alone is no incident.",
        rows="""
            SELECT CASE http_status WHEN 409 THEN 'CONFLICT' ELSE 'NONE' END, received_at FROM gateway_responses
            ORDER BY attempt_id DESC
        """,
        label="conflict",
        values=("CONFLICT", "NONE"),
        window=QUARTER,
    ),
    _recent(
        name="webhooks_recent",
        meaning="Verified events of the provider that came in the last hour, by what became of them.",
        rows="SELECT outcome, received_at FROM gateway_webhooks ORDER BY id DESC",
        label="outcome",
        values=WebhookOutcome,
        window=HOUR,
    ),
    Reading(
        """
        SELECT count(*), extract(epoch FROM %s - min(received_at))
        FROM gateway_webhooks WHERE next_attempt_at IS NOT NULL
        """,
        (_NOW,),
        (
            ("webhooks_waiting", "Stored events of the provider that are still to be applied."),
            ("webhooks_waiting_oldest_seconds", "How old the oldest of them is."),
        ),
    ),
    Reading(
        "SELECT coalesce(max((summary ->> 'found')::bigint), 0) FROM heartbeats WHERE name = 'check_invariants'",
        (),
        (("invariants_violated", "What must always hold and did not when it was last asked."),),
    ),
    Reading(
        "SELECT count(*), extract(epoch FROM %s - min(frozen_at)) FROM ledger_payments WHERE frozen_at IS NOT NULL",
        (_NOW,),
        (
            (
                "payments_frozen",
                "Payments of which more is gone than was captured; nothing of them is refunded.",
            ),
            ("payments_frozen_oldest_seconds", "How long the first of them has been frozen."),
        ),
    ),
    Reading(
        f"""
        SELECT told.key, sum(told.value::bigint) FROM (
            SELECT DISTINCT ON (merchant_id) counts
            FROM (SELECT * FROM book_comparisons ORDER BY id DESC LIMIT {NEWEST}) newest
            ORDER BY merchant_id, id DESC
        ) last, jsonb_each_text(last.counts) told GROUP BY told.key
        """,  # noqa: S608 - a number of ours
        (),
        (("book_differences", "Differences between three books when each merchant's were last compared."),),
        "kind",
        DifferenceKind,
    ),
    Reading(
        f"""
        SELECT extract(epoch FROM %s - min(reach)) FROM (
            SELECT max(last_booked_at) AS reach
            FROM (SELECT * FROM ledger_settlement_files ORDER BY id DESC LIMIT {NEWEST}) newest GROUP BY merchant_id
        ) merchants
        """,  # noqa: S608 - a number of ours
        (_NOW,),
        (
            (
                "settlement_age_seconds",
                "How old the end of the settlement reports is that reach the least far.",
            ),
        ),
    ),
    Reading(
        f"SELECT name, total FROM tallies WHERE name IN ({_FAULTS})",  # noqa: S608 - our own names
        (),
        (("worker_faults", "Messages that workers could do nothing with, since the desk began."),),
        "fault",
        WorkerFault,
    ),
    _recent(
        name="operations_contradicted_recent",
        meaning="Operations that had ended without a refund and whose refund showed up in the last day, by that end.",
        rows=f"""
            SELECT CASE WHEN to_state = '{OperationState.MANUAL_REVIEW}'
                AND from_state IN ({_ENDED}) THEN from_state ELSE 'NONE' END, at
            FROM refund_operation_events ORDER BY id DESC
        """,  # noqa: S608 - our own states
        label="ended",
        values=(*sorted(ABANDONED_OPERATION_STATES), "NONE"),
        window=DAY,
    ),
    _recent(
        name="proposals_recent",
        meaning="Proposals of the last hour, by what their text was worth.",
        rows="SELECT output_class, at FROM proposals ORDER BY id DESC",
        label="output_class",
        values=ProposalClass,
        window=HOUR,
    ),
    _recent(
        name="proposals_declined_recent",
        meaning="Proposals of the last hour, by how the model declined to make one.",
        rows=f"""
            SELECT CASE WHEN detail IN ({_DECLINED}) THEN detail ELSE 'NONE' END, at FROM proposals
            ORDER BY id DESC
        """,  # noqa: S608 - our own kinds
        label="kind",
        values=(*DeclinedKind, "NONE"),
        window=HOUR,
    ),
    _recent(
        name="proposals_by_proposer_recent",
        meaning="Proposals of the last hour, by who made them: a model, or rules.",
        rows=f"""
            SELECT CASE WHEN proposer IN ('{DETERMINISTIC}', '{STAFF}') THEN 'RULES' ELSE 'MODEL' END, at
            FROM proposals ORDER BY id DESC
        """,  # noqa: S608 - our own names
        label="proposer",
        values=("MODEL", "RULES"),
        window=HOUR,
    ),
    _recent(
        name="proposal_checks_recent",
        meaning="Checks of proposals in the last hour that did not hold.",
        rows="SELECT CASE result WHEN 'FAIL' THEN rule ELSE 'HELD' END, at FROM rule_results ORDER BY id DESC",
        label="failed",
        values=(*CheckRule, "HELD"),
        window=HOUR,
    ),
    _recent(
        name="reconciliation_checks_recent",
        meaning="Looks at what really happened in the last hour, by verdict.",
        rows="SELECT verdict, at FROM reconciliation_checks ORDER BY id DESC",
        label="verdict",
        values=CheckVerdict,
        window=HOUR,
    ),
    _recent(
        name="workflow_transitions_recent",
        meaning="Transitions of requests in the last 15 minutes, by the state that they led to.",
        rows="SELECT to_state, at FROM refund_workflow_events ORDER BY id DESC",
        label="to_state",
        values=WorkflowState,
        window=QUARTER,
    ),
    _recent(
        name="operation_transitions_recent",
        meaning="Transitions of operations in the last 15 minutes, by the state that they led to.",
        rows="SELECT to_state, at FROM refund_operation_events ORDER BY id DESC",
        label="to_state",
        values=OperationState,
        window=QUARTER,
    ),
)
