"""Who works on a case: claim it, give it back, or take it over once a colleague's lease ran out."""

from datetime import datetime

from approvals.cases import claim, lock_case, release
from approvals.models import ReviewCase
from approvals.states import CaseKind
from ledger.transitions import append_record
from refunds.casework.owned_case import CaseAction, OwnedCase, locked_case
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.stages.s08_obtain_approval import started_by
from refunds.states import WorkflowState

CLAIMED, TAKEN_OVER, RELEASED = "CASE_CLAIMED", "CASE_TAKEN_OVER", "CASE_RELEASED"


def claim_case(action: CaseAction, *, now: datetime) -> int:
    """Lend the case to this person, or renew their lease; return the ticket that they hold.

    Whoever made or started what is to be approved cannot: their lease would only keep its reviewers away.
    Whoever claims the case of an unreadable source takes the request over: it waits for people from then on.
    Raises ``CaseWorkRefusedError``.
    """
    with locked_case(action, now=now) as owned:
        case, renewed = owned.case, owned.case.claimed_by == owned.actor.id
        taken_over = claim(case, owned.actor.id, now=now)
        workflow = owned.evidence.workflow
        if case.kind == CaseKind.APPROVAL and _is_own_command(owned, staff_user_id=action.staff_user_id):
            raise CaseWorkRefusedError("OWN_REQUEST")
        why = owned.why(TAKEN_OVER if taken_over else CLAIMED, action)
        waits_for_source = (
            case.kind == CaseKind.VERIFICATION and workflow.state == WorkflowState.EVIDENCE_PENDING
        )
        if waits_for_source:
            owned.evidence.move_workflow(WorkflowState.MANUAL_REVIEW, why)
            case = _case_after_moving(owned)
            claim(case, owned.actor.id, now=now)
        elif not renewed:
            append_record(workflow, why, now=now)
        return case.ticket


def release_case(action: CaseAction, *, now: datetime) -> None:
    """Give the case back, so that anybody may take it. Raises ``CaseWorkRefusedError``."""
    with locked_case(action, now=now) as owned:
        release(owned.case, owned.actor.id, now=now)
        append_record(owned.evidence.workflow, owned.why(RELEASED, action), now=now)


def _is_own_command(owned: OwnedCase, *, staff_user_id: int) -> bool:
    workflow = owned.evidence.workflow
    return workflow.maker_id == owned.actor.id or started_by(workflow.pk, staff_user_id)


def _case_after_moving(owned: OwnedCase) -> ReviewCase:
    """Return the case that people own now: the same one while it stays open, else the one that replaced it."""
    newest = ReviewCase.objects.filter(
        subject_id=owned.evidence.workflow.pk, closed_at__isnull=True
    ).order_by("pk")
    same = newest.filter(pk=owned.case.pk).first()
    return lock_case((same or newest.last() or owned.case).pk)
