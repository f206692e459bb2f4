"""The life of one approval: asked for, voted on, granted, used, or made void.

Every function runs in the caller's transaction, after the caller has locked the subject (lock order: payments,
workflow, operation, approval, case).
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from approvals.models import ApprovalRequest
from approvals.states import ApprovalState, SubjectKind
from ledger.ids import new_id
from ledger.models import EventModel
from ledger.transitions import Why, append_record, commit_transition, create_with_event, lock_row


class DecisionRefusedError(Exception):
    """If you see this, a person's decision was not recorded; ``code`` says why.

    NOT_PENDING, OWN_REQUEST, ALREADY_VOTED, NOT_ALLOWED, FINGERPRINT_CHANGED, EXPIRED, CLAIMED_BY_ANOTHER,
    NOTE_TOO_LONG, NOTE_NOT_READABLE, NOTE_HAS_CARD_NUMBER, NOTE_HAS_SECURITY_CODE or NOTE_REQUIRED.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class CommandToApprove:
    """The exact command that is put before a rule or people, as plain values."""

    merchant_id: int
    subject_id: str
    command: dict[str, Any]
    command_number: int
    request_fingerprint: str
    maker_id: str
    policy_version: str
    valid_for: timedelta
    subject_kind: SubjectKind = SubjectKind.REFUND


def request_approval(
    wanted: CommandToApprove, *, approvals_needed: int, rule: str, why: Why, now: datetime
) -> ApprovalRequest:
    """Put a command up for approval; ``rule`` names the rule that may grant it, or is empty for people."""
    approval = ApprovalRequest(
        id=new_id("apr"),
        merchant_id=wanted.merchant_id,
        subject_kind=wanted.subject_kind,
        subject_id=wanted.subject_id,
        command=wanted.command,
        command_number=wanted.command_number,
        request_fingerprint=wanted.request_fingerprint,
        maker_id=wanted.maker_id,
        approvals_needed=approvals_needed,
        rule=rule,
        policy_version=wanted.policy_version,
        valid_for_hours=int(wanted.valid_for.total_seconds() // 3600),
        created_at=now,
    )
    create_with_event(approval, why, now=now)
    return approval


def grant_by_rule(approval: ApprovalRequest, why: Why, *, now: datetime) -> None:
    """Grant an approval that cites a rule; the rule stands in the row and in the event."""
    if not approval.rule:
        raise DecisionRefusedError("NOT_ALLOWED")
    _grant(approval, why, now)


def vote(
    *, approval_id: str, approve: bool, fingerprint: str, voter_id: str, why: Why, now: datetime
) -> ApprovalRequest:
    """Record one person's decision. Enough approvals grant it; one rejection rejects it.

    Raises ``DecisionRefusedError``; nothing is recorded then.
    """
    approval = lock_row(ApprovalRequest, approval_id)
    if approval.state != ApprovalState.PENDING:
        raise DecisionRefusedError("NOT_PENDING")
    if voter_id == approval.maker_id:
        raise DecisionRefusedError("OWN_REQUEST")
    if fingerprint != approval.request_fingerprint:
        raise DecisionRefusedError("FINGERPRINT_CHANGED")
    votes = set(approval.events.exclude(voter_id="").values_list("voter_id", flat=True))
    if voter_id in votes:
        raise DecisionRefusedError("ALREADY_VOTED")
    event = append_record(approval, why, now=now, voter_id=voter_id)
    if not approve:
        commit_transition(approval, ApprovalState.REJECTED, why, now=now)
    elif len(votes) + 1 >= approval.approvals_needed:
        _grant(approval, _with_votes(why, votes | {voter_id}, event), now)
    return approval


def consume(approval: ApprovalRequest, why: Why, *, now: datetime) -> None:
    """Use a locked, granted approval for one operation (stage 9)."""
    commit_transition(approval, ApprovalState.CONSUMED, why, now=now)


def void(*, approval_id: str, why: Why, now: datetime) -> None:
    """Void an approval that still stands; one that already ended is left as it is."""
    approval = lock_row(ApprovalRequest, approval_id)
    if approval.state in {ApprovalState.PENDING, ApprovalState.GRANTED, ApprovalState.CONSUMED}:
        commit_transition(approval, ApprovalState.VOIDED, why, now=now)


def void_standing(*, subject_id: str, used_too: bool, why: Why, now: datetime) -> None:
    """Void what is pending or granted for a subject, and with ``used_too`` what an operation was created under."""
    standing = [ApprovalState.PENDING, ApprovalState.GRANTED, *([ApprovalState.CONSUMED] if used_too else [])]
    found = ApprovalRequest.objects.filter(subject_id=subject_id, state__in=standing).order_by("pk")
    for approval_id in found.values_list("pk", flat=True):
        void(approval_id=approval_id, why=why, now=now)


def expire(approval: ApprovalRequest, why: Why, *, now: datetime) -> None:
    """Close a locked, granted approval whose time passed unused."""
    commit_transition(approval, ApprovalState.EXPIRED, why, now=now)


def _grant(approval: ApprovalRequest, why: Why, now: datetime) -> None:
    expires_at = now + timedelta(hours=approval.valid_for_hours)
    commit_transition(approval, ApprovalState.GRANTED, why, now=now, expires_at=expires_at)


def _with_votes(why: Why, voters: set[str], event: EventModel) -> Why:
    evidence = why.evidence | {"approved_by": sorted(voters), "last_vote": event.pk}
    return replace(why, evidence=evidence)
