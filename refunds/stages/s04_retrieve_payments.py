"""Stage 4. Retrieve order and payment records.

Input: an order of the customer's own.
Output: a normalised, access-controlled snapshot of its charges, refunds and disputes, in minor units.
Failure destination: the source cannot be read -> a VERIFICATION case with what is known so far; the request keeps
waiting and is read again later, and people take over once the case is late.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Min

from approvals.cases import open_case
from approvals.states import CaseKind
from ledger.actors import Actor
from ledger.models import Payment
from ledger.snapshot import LedgerSnapshot
from ledger.sources.port import SourceUnavailable
from ledger.transitions import Why, append_record
from refunds.evidence.policy import ApplicablePolicy
from refunds.evidence.review_due import review_due_at
from refunds.evidence.source import ledger_source
from refunds.models import RefundWorkflow
from refunds.stages.s12_commit_evidence import Evidence
from refunds.states import WorkflowState

STAGE = "RETRIEVE_PAYMENTS"
SOURCE_UNREADABLE = "SOURCE_UNREADABLE"
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=30), timedelta(minutes=15)
_ACTOR = Actor.system(f"stage:{STAGE}")


class NoOrderYetError(RuntimeError):
    """If you see this, payments were asked for before the customer said which order the request is about."""


def retrieve_payments(*, workflow: RefundWorkflow, now: datetime) -> LedgerSnapshot | SourceUnavailable:
    """Read the order's money, scoped by tenant and customer. Runs outside any transaction."""
    if workflow.order_id is None:
        raise NoOrderYetError(workflow.pk)
    return ledger_source().read_order(
        merchant_id=workflow.merchant_id,
        customer_id=workflow.customer_id,
        order_id=workflow.order_id,
        now=now,
    )


def refresh_payments(*, workflow: RefundWorkflow, max_age: timedelta, now: datetime) -> None:
    """Read the source again where what it confirmed is older than allowed; stage 9 waits if that did not help.

    Outside any transaction. People may take longer to approve than facts stay fresh.
    """
    oldest = Payment.objects.filter(order=workflow.order).aggregate(at=Min("refreshed_at"))["at"]
    if oldest is not None and now - oldest > max_age:
        retrieve_payments(workflow=workflow, now=now)


def wait_for_source(*, evidence: Evidence, unavailable: SourceUnavailable, policy: ApplicablePolicy) -> None:
    """Keep the request waiting with a case about it; growing waits, and MANUAL_REVIEW once the case is late."""
    workflow = evidence.workflow
    case = open_case(
        kind=CaseKind.VERIFICATION,
        subject_id=workflow.pk,
        merchant_id=workflow.merchant_id,
        reason=SOURCE_UNREADABLE,
        now=evidence.now,
        due_at=review_due_at(workflow, now=evidence.now, policy=policy),
    )
    why = Why(_ACTOR, STAGE, SOURCE_UNREADABLE, policy.label, _known_so_far(unavailable, policy, case.ticket))
    workflow.source_failures += 1
    if case.due_at is not None and case.due_at <= evidence.now:
        evidence.move_workflow(WorkflowState.MANUAL_REVIEW, why, source_failures=workflow.source_failures)
        return
    if workflow.source_failures == 1:
        append_record(workflow, why, now=evidence.now)
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(workflow.source_failures - 1, 10))
    workflow.next_attempt_at, workflow.claimed_until = evidence.now + wait, None
    workflow.save(update_fields=["source_failures", "next_attempt_at", "claimed_until"])


def _known_so_far(unavailable: SourceUnavailable, policy: ApplicablePolicy, ticket: int) -> dict[str, Any]:
    return {
        "failure": str(unavailable.kind),
        "detail": unavailable.detail[:120],
        "attempts": unavailable.attempts,
        "policy_version": policy.label,
        "ticket": ticket,
    }
