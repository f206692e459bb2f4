"""What the events tell: complete, never contradicted by time, and the same whoever moved the row."""

from tests.torture.database import Rows
from tests.torture.oracles.watch import ABANDONED, Watch
from tests.torture.provider.book import Provider

Found = list[tuple[str, str]]
_EVENTS = (
    ("refund_operation", "operation_id", "operation_events"),
    ("refund_workflow", "workflow_id", "workflow_events"),
    ("approval", "approval_id", "approval_events"),
)


def outbox_tells_all(rows: Rows, _provider: Provider, _watch: Watch) -> Found:
    """Stage 12: an event and its audit event are committed together, one for one."""
    found = []
    told: dict[str, int] = {}
    for row in rows.outbox:
        if not row["topic"].endswith("transition_refused") and "transition" in row["payload"]:
            told[row["subject"]] = told.get(row["subject"], 0) + 1
    for _, subject, name in _EVENTS:
        happened: dict[str, int] = {}
        for event in getattr(rows, name):
            happened[event[subject]] = happened.get(event[subject], 0) + 1
        for row_id, count in happened.items():
            if told.get(row_id, 0) != count:
                found.append(("EVENT_AND_OUTBOX", f"{row_id}: {count} events, {told.get(row_id, 0)} told"))
    return found


def no_jump_was_refused(rows: Rows, _provider: Provider, _watch: Watch) -> Found:
    """Whoever moves a row has read its state under the lock: the tables' refusal is a net that nothing falls into."""
    return [
        ("JUMP_REFUSED", f"{row['subject']}: {row['payload']}"[:300])
        for row in rows.outbox
        if row["topic"].endswith("transition_refused")
    ]


def terminal_states_stay(rows: Rows, provider: Provider, _watch: Watch) -> Found:
    """A final state is left only when the provider's book contradicts it."""
    found = []
    for event in rows.operation_events:
        left, operation_id = event["from_state"], event["operation_id"]
        mine = provider.of_operation(operation_id)
        if left == "COMPLETED" and not any(one.history != ["succeeded"] for one in mine):
            found.append(
                ("TERMINAL_STAYS", f"{operation_id} left COMPLETED, and the provider says succeeded")
            )
        if left in ABANDONED and not any(one.live or "succeeded" in one.history for one in mine):
            found.append(("TERMINAL_STAYS", f"{operation_id} left {left} without a refund at the provider"))
    return found


def events_have_one_shape(rows: Rows, _provider: Provider, watch: Watch) -> Found:
    """Recovery emits what the live path emits: one transition for one reason always tells the same things."""
    found = []
    for kind, _, name in _EVENTS:
        for event in getattr(rows, name):
            if event["kind"] != "TRANSITION":
                continue
            key = (
                kind,
                *(event[name] for name in ("from_state", "to_state", "stage", "reason", "actor_type")),
            )
            shape = tuple(sorted(event["evidence"]))
            if watch.shapes.setdefault(key, shape) != shape:
                found.append(("ONE_EVENT_SHAPE", f"{key}: {shape} and {watch.shapes[key]}"))
    return found
