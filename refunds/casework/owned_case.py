"""The way in for every action on a case: permission first, then the locks in order, then the lease.

A person works on a case of a merchant that they act for, never on a request of their own, and only while no
colleague's lease runs. Every action leaves an event on the request: who, what, why, and the ticket.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from approvals.cases import CaseHeldError, lock_case, require_lease
from approvals.models import ReviewCase
from ledger.actors import Actor
from ledger.intake import IntakeRefusedError, check_note
from ledger.transitions import Why
from refunds.casework.permission import may_work_for
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.evidence.notes import keep_note
from refunds.models import RefundOperation
from refunds.stages.s12_commit_evidence import Evidence, evidence_transaction
from refunds.states import RESOLVED_OPERATION_STATES, OperationState, WorkflowState

STAGE: Final = "REVIEW"
OTHER: Final = "OTHER"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseAction:
    """One person's action on one case: by ticket, with a reason code and a note for colleagues."""

    ticket: int
    staff_user_id: int
    reason_code: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class OwnedCase:
    """A locked case with its request, and the person who acts."""

    evidence: Evidence
    case: ReviewCase
    actor: Actor

    def why(self, name: str, action: CaseAction) -> Why:
        """Return who acts and why, with the note kept beside it; ``name`` is the action's own."""
        return Why(
            actor=self.actor,
            stage=STAGE,
            reason=action.reason_code or name,
            policy_version=self.evidence.workflow.policy_version,
            evidence={
                "action": name,
                "ticket": self.case.ticket,
                **keep_note(check_note(action.note), now=self.evidence.now),
            },
        )


def find_case(action: CaseAction) -> ReviewCase:
    """Return the case, unlocked, if this person may act on it. Raises ``CaseWorkRefusedError``."""
    found = ReviewCase.objects.filter(ticket=action.ticket).first()
    if found is None:
        raise CaseWorkRefusedError("NO_SUCH_CASE")
    if not may_work_for(merchant_id=found.merchant_id, staff_user_id=action.staff_user_id):
        raise CaseWorkRefusedError("NOT_ALLOWED")
    return found


def operation_of(action: CaseAction, operation_id: str) -> str:
    """Return the operation's id if the case is about its request. Raises ``CaseWorkRefusedError``.

    Rows of another request are neither locked nor told of.
    """
    subject = find_case(action).subject_id
    if not RefundOperation.objects.filter(pk=operation_id, workflow_id=subject).exists():
        raise CaseWorkRefusedError("NO_SUCH_OPERATION")
    return operation_id


@contextmanager
def locked_case(
    action: CaseAction, *, now: datetime, payment_ids: Sequence[int] = (), operation_id: str | None = None
) -> Iterator[OwnedCase]:
    """Open the transaction of an action that needs no lease yet. Raises ``CaseWorkRefusedError``."""
    found = find_case(action)
    try:
        check_note(action.note)
        with evidence_transaction(
            workflow_id=found.subject_id, payment_ids=payment_ids, operation_id=operation_id, now=now
        ) as evidence:
            if evidence.workflow.customer.user_id == action.staff_user_id:
                raise CaseWorkRefusedError("OWN_REQUEST")
            yield OwnedCase(evidence, lock_case(found.pk), Actor.staff(action.staff_user_id))
    except (CaseHeldError, IntakeRefusedError) as refused:
        raise CaseWorkRefusedError(refused.code) from refused


@contextmanager
def owned_case(
    action: CaseAction, *, now: datetime, payment_ids: Sequence[int] = (), operation_id: str | None = None
) -> Iterator[OwnedCase]:
    """Open the transaction of an action on a request that people own, by whoever holds its case."""
    with locked_case(action, now=now, payment_ids=payment_ids, operation_id=operation_id) as owned:
        require_lease(owned.case, owned.actor.id, now=now)
        require_explained(reason_code=action.reason_code, note=action.note)
        if owned.evidence.workflow.state != WorkflowState.MANUAL_REVIEW:
            raise CaseWorkRefusedError("NOT_IN_REVIEW")
        yield owned


def require_explained(*, reason_code: str, note: str) -> None:
    """Refuse what nobody could understand later: no reason, or another one that the note does not give."""
    if not reason_code:
        raise CaseWorkRefusedError("REASON_REQUIRED")
    if reason_code == OTHER and not note.strip():
        raise CaseWorkRefusedError("NOTE_REQUIRED")


def require_resolved(owned: OwnedCase) -> None:
    """Refuse to let a request go on or end while money may still move for it, or has moved for it."""
    if OperationState.COMPLETED in resolved_states(owned):
        raise CaseWorkRefusedError("REFUND_STANDS")


def resolved_states(owned: OwnedCase) -> set[str]:
    """Return the states of the request's operations; refuse while the outcome of one is not known."""
    states = set(owned.evidence.workflow.operations.values_list("state", flat=True))
    if not states <= RESOLVED_OPERATION_STATES:
        raise CaseWorkRefusedError("OPERATION_UNRESOLVED")
    return states
