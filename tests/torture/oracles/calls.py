"""Every call that left: under one key with one body, never blindly again, inside the safe window, and approved."""

from collections import defaultdict
from datetime import datetime
from itertools import pairwise

from tests.torture.database import Rows
from tests.torture.oracles.watch import SAFE_RESEND, Watch, moment
from tests.torture.provider.book import Provider
from tests.torture.provider.records import Submission

Found = list[tuple[str, str]]


def _by_operation(provider: Provider) -> dict[str, list[Submission]]:
    calls: dict[str, list[Submission]] = defaultdict(list)
    for sent in provider.submissions:
        calls[sent.operation_id].append(sent)
    return calls


def one_key_one_body(_rows: Rows, provider: Provider, _watch: Watch) -> Found:
    """I3: every call of an operation carries the key that follows from its id, and the same bytes."""
    found = []
    for operation_id, calls in _by_operation(provider).items():
        if {sent.key for sent in calls} != {f"refund:{operation_id}"}:
            found.append(("ONE_KEY", f"{operation_id}: {sorted({sent.key for sent in calls})}"))
        if len({sent.body for sent in calls}) > 1:
            found.append(("ONE_BODY", operation_id))
    return found


def no_blind_resend(rows: Rows, provider: Provider, _watch: Watch) -> Found:
    """I5: after a call that may have executed, the next one needs a check that proved absence in between."""
    found = []
    for operation_id, calls in _by_operation(provider).items():
        proofs = [
            moment(row["at"])
            for row in rows.checks
            if row["operation_id"] == operation_id and row["verdict"] == "CONFIRMED_ABSENT"
        ]
        for earlier, later in pairwise(calls):
            proven = any(at is not None and earlier.at <= at <= later.at for at in proofs)
            if earlier.ambiguous and not proven:
                found.append(("NO_BLIND_RESEND", f"{operation_id}: sent again at {later.at}"))
    return found


def inside_the_safe_window(_rows: Rows, provider: Provider, _watch: Watch) -> Found:
    """A key is used only as long as the provider surely remembers it; a limiter's refusal comes before any use."""
    found = []
    for operation_id, calls in _by_operation(provider).items():
        first = next((one.at for one in calls if one.ambiguous), calls[-1].at)
        if calls[-1].at - first >= SAFE_RESEND:
            found.append(
                ("INSIDE_SAFE_WINDOW", f"{operation_id}: sent {calls[-1].at - first} after its first use")
            )
    return found


def approved_when_sent(rows: Rows, provider: Provider, watch: Watch) -> Found:
    """I12: what is sent was approved for exactly this, and neither switch nor dispute stood against it."""
    new, watch.sent_seen = provider.submissions[watch.sent_seen :], len(provider.submissions)
    found = []
    operations = {row["id"]: row for row in rows.operations}
    approvals = {row["id"]: row for row in rows.approvals}
    for sent in new:
        operation = operations.get(sent.operation_id)
        if operation is None:
            found.append(("SENT_UNAPPROVED", f"{sent.operation_id} is no operation"))
            continue
        begun = _begun_at(rows, sent)
        approval = approvals.get(operation["approval_id"])
        expires = moment(approval["expires_at"]) if approval else None
        if approval is None or expires is None or (begun is not None and begun >= expires):
            found.append(("SENT_UNAPPROVED", f"{sent.operation_id} at {begun}, approved until {expires}"))
        if begun is not None and _was_switched_off(begun, rows, watch):
            found.append(("SENT_WHILE_SWITCHED_OFF", f"{sent.operation_id} at {begun}"))
        if begun is not None and watch.dispute_known_at is not None and begun > watch.dispute_known_at:
            found.append(("SENT_AGAINST_DISPUTE", f"{sent.operation_id} at {begun}"))
    return found


def _was_switched_off(begun: datetime, rows: Rows, watch: Watch) -> bool:
    """Say whether a call was begun between the last two turns of the switch; whoever turned it on may have been first."""
    if watch.switched_off_at is None or begun <= watch.switched_off_at:
        return False
    return all(not row["is_on"] or begun < (moment(row["changed_at"]) or begun) for row in rows.switches)


def _begun_at(rows: Rows, sent: Submission) -> datetime | None:
    """Return when the newest attempt before this call was committed."""
    begun = [
        at
        for row in rows.attempts
        if row["idempotency_key"] == sent.key and (at := moment(row["started_at"])) is not None
    ]
    return max((at for at in begun if at <= sent.at), default=None)
