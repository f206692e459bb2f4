"""Stage 12. Commit every change of state together with its evidence.

Not a step after the eleventh: it is what every stage ends with. ``evidence_transaction`` opens the one transaction,
takes the locks in the one order (payments, workflow, operation, approval, case) and lets a stage make several
transitions under them. The coupling of workflow and operation, the cases that people own, the slot of an open
request and the message that a customer is owed follow from the transition here, so no caller can forget them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from approvals.cases import close_cases, open_case
from approvals.models import ApprovalRequest
from approvals.services import void, void_standing
from approvals.states import CaseKind
from ledger.models import Payment
from ledger.snapshot import EntryStatus
from ledger.transitions import TransitionRefusedError, Why, commit_transition, lock_row, record_refusal
from notifications.services import queue_notification
from refunds.evidence.booking import book_refund, unbook_refund
from refunds.evidence.books import Books, read_books
from refunds.evidence.known_references import operations_beside
from refunds.evidence.late_checks import next_late_check
from refunds.evidence.review_due import review_due_at
from refunds.facts import stated_facts
from refunds.gateways.registry import get_contract
from refunds.models import Proposal, RefundOperation, RefundWorkflow, RuleResult
from refunds.states import (
    ABANDONED_OPERATION_STATES,
    EXECUTABLE_OPERATION_STATES,
    HUMAN_WORKFLOW_STATES,
    SCANNED_OPERATION_STATES,
    TERMINAL_WORKFLOW_STATES,
    OperationState,
    Origin,
    WorkflowState,
    coupled_workflow_state,
)

MESSAGE_ON: dict[str, str] = {
    WorkflowState.COMPLETED: "refund.completed",
    WorkflowState.NO_REFUND_DUE: "refund.not_due",
    WorkflowState.REJECTED: "refund.rejected",
}
_UNBOOKED = {
    OperationState.FAILED: EntryStatus.FAILED,
    OperationState.PROVIDER_PENDING: EntryStatus.PENDING,
    OperationState.MANUAL_REVIEW: EntryStatus.PENDING,  # not known to be back, so not free either
}
_AT_REST = TERMINAL_WORKFLOW_STATES | HUMAN_WORKFLOW_STATES | {WorkflowState.EXECUTING}


@dataclass
class Evidence:
    """The locked rows of one workflow, and the only ways to move them.

    ``proposal``, ``rule_results`` and ``approval`` are what a stage wrote in this very transaction, so that the next
    one need not read it; None where an earlier transaction wrote it.
    """

    workflow: RefundWorkflow
    operation: RefundOperation | None
    now: datetime
    payments: tuple[Payment, ...] = ()
    policy_closes_on_rejection: bool = field(default=False)
    proposal: Proposal | None = None
    rule_results: tuple[RuleResult, ...] | None = None
    approval: ApprovalRequest | None = None
    _books: Books | None = field(default=None, repr=False)
    _siblings: tuple[RefundOperation, ...] | None = field(default=None, repr=False)

    @property
    def is_frozen(self) -> bool:
        """Say whether facts froze one of the locked payments, and no person has released it."""
        return any(payment.frozen_at is not None for payment in self.payments)

    def books(self) -> Books:
        """Return the books of the order's payments, read once for all checks; the caller holds their locks."""
        if self._books is None:
            self._books = read_books(self.workflow, now=self.now)
        return self._books

    def move_workflow(self, to: WorkflowState, why: Why, **changes: Any) -> None:
        """Move the workflow; open or close its case, free its slot, queue the message it owes."""
        leaving_people = self.workflow.state in HUMAN_WORKFLOW_STATES
        if to in {WorkflowState.MANUAL_REVIEW, WorkflowState.EVIDENCE_PENDING}:
            changes["person_required"] = True  # what was voided or inconclusive once is never automatic again
        if to is WorkflowState.EVIDENCE_PENDING:
            changes["next_attempt_at"] = self.now
        if to in _AT_REST:
            changes["next_attempt_at"] = None  # nothing here is the scanners' to advance
        if to in TERMINAL_WORKFLOW_STATES:
            changes["open_slot"] = None
        # The case of an unreadable source ends with the evidence, or goes on as the one that people own.
        was_unread = self.workflow.source_failures > 0 and to is not WorkflowState.MANUAL_REVIEW
        if was_unread:
            changes["source_failures"] = 0
        commit_transition(self.workflow, to, why, now=self.now, **{"claimed_until": None, **changes})
        if leaving_people or was_unread:
            close_cases(subject_id=self.workflow.pk, because=why.reason or to, now=self.now)
        if to in HUMAN_WORKFLOW_STATES:
            open_case(
                kind=self._case_kind(to),
                subject_id=self.workflow.pk,
                merchant_id=self.workflow.merchant_id,
                reason=why.reason,
                now=self.now,
                due_at=review_due_at(self.workflow, now=self.now),
            )
        # A refund that staff started is news to its customer once it happened: they never asked for it.
        if to in MESSAGE_ON and (self.workflow.origin != Origin.STAFF or to is WorkflowState.COMPLETED):
            self._owe_message(MESSAGE_ON[to])

    def is_known_of_another(self, reference: str) -> bool:
        """Say whether the provider's reference is another operation's; reads the request's siblings with it."""
        mine = self._operation()
        found = operations_beside(mine, reference)
        self._siblings = tuple(row for row in found if row.workflow_id == mine.workflow_id)
        account = (mine.merchant_id, mine.account, reference)
        return any((row.merchant_id, row.account, row.processor_reference) == account for row in found)

    def move_operation(self, to: OperationState, why: Why, **changes: Any) -> None:
        """Move the operation, and its workflow by the coupling, under the same lock."""
        operation = self._operation()
        left = OperationState(operation.state)
        contradicted = left in ABANDONED_OPERATION_STATES
        if to not in EXECUTABLE_OPERATION_STATES:
            changes["next_attempt_at"] = None
        if to not in SCANNED_OPERATION_STATES:
            changes["next_check_at"] = self._late_check(to)
        commit_transition(operation, to, why, now=self.now, **{"claimed_until": None, **changes})
        if to is OperationState.COMPLETED:
            book_refund(operation, why=why, now=self.now)
        elif to is OperationState.FAILED or left is OperationState.COMPLETED or contradicted:
            unbook_refund(operation, status=_UNBOOKED[to])
        workflow_state = WorkflowState(self.workflow.state)
        target = coupled_workflow_state(
            workflow_state,
            to,
            left=left,
            sibling_stands=self._sibling_stands(operation),
            policy_closes_on_rejection=self.policy_closes_on_rejection,
        )
        if target is not workflow_state:
            self.move_workflow(target, why)
        if to is OperationState.FAILED and self._was_confirmed(left):
            self._owe_message("refund.returned")
        if to is OperationState.CANCELLED:
            void(approval_id=operation.approval_id, why=why, now=self.now)
        elif contradicted:
            # What was approved for a later command, too.
            void_standing(subject_id=self.workflow.pk, used_too=True, why=why, now=self.now)
        if left is OperationState.MANUAL_REVIEW:  # what people proposed about it was about how it stood
            void_standing(subject_id=operation.pk, used_too=False, why=why, now=self.now)

    def _was_confirmed(self, left: OperationState) -> bool:
        """Tell whether the customer was told of a refund that failed: at once, or after it was pending again."""
        events = self._operation().events
        return left is OperationState.COMPLETED or events.filter(to_state=OperationState.COMPLETED).exists()

    def _late_check(self, to: OperationState) -> datetime | None:
        """Return when what people get now is looked up again, or None for what is resolved."""
        if to is not OperationState.MANUAL_REVIEW:
            return None
        return next_late_check(since=self.now, now=self.now, contract=get_contract())

    def _sibling_stands(self, operation: RefundOperation) -> bool:
        if operation.state != OperationState.COMPLETED:
            return False
        if self._siblings is not None:  # read under this very lock, which nobody changes their state without
            return any(row.state not in ABANDONED_OPERATION_STATES for row in self._siblings)
        siblings = RefundOperation.objects.filter(workflow_id=self.workflow.pk).exclude(pk=operation.pk)
        return siblings.exclude(state__in=ABANDONED_OPERATION_STATES).exists()

    def _case_kind(self, to: WorkflowState) -> CaseKind:
        if to is WorkflowState.REQUIRES_HUMAN_APPROVAL:
            return CaseKind.APPROVAL
        if self.workflow.source_failures:
            return CaseKind.VERIFICATION
        return CaseKind.FINANCE if self.operation is not None else CaseKind.INVESTIGATION

    def _owe_message(self, topic: str) -> None:
        """Owe one message: once for an operation, and once for each time that a request closes without one."""
        if self.operation is not None:
            subject = self.operation.pk
        else:
            subject = f"{self.workflow.pk}.{self.workflow.state_sequence}"
        queue_notification(
            logical_event_id=f"{topic}:{subject}",
            customer_id=self.workflow.customer_id,
            subject_id=self.workflow.pk,
            facts=stated_facts(self.workflow, operation=self.operation),
            now=self.now,
        )

    def _operation(self) -> RefundOperation:
        if self.operation is None:
            raise RuntimeError("No operation is locked in this transaction.")
        return self.operation


@contextmanager
def evidence_transaction(
    *,
    workflow_id: str,
    now: datetime,
    operation_id: str | None = None,
    payment_ids: Sequence[int] = (),
    clock: Callable[[], datetime] | None = None,
) -> Iterator[Evidence]:
    """Open the transaction, lock in order and yield the rows as they are now.

    With ``clock`` the time is read again once the locks are held: waiting for them may outlast an approval.

    A refused transition rolls everything back, is kept as audit evidence, and is raised again.
    """
    try:
        with transaction.atomic(durable=True):
            payments = _lock_payments(payment_ids)
            workflow = lock_row(RefundWorkflow, workflow_id, parties=("merchant", "customer"))
            _know_payments(workflow, payments)
            operation = lock_row(RefundOperation, operation_id) if operation_id else None
            locked_at = clock() if clock is not None else now
            yield Evidence(workflow=workflow, operation=operation, now=locked_at, payments=payments)
    except TransitionRefusedError as refused:
        with transaction.atomic():
            record_refusal(refused, now=now)
        raise


def _lock_payments(payment_ids: Sequence[int]) -> tuple[Payment, ...]:
    locking = Payment.objects.select_for_update(of=("self",), no_key=True).select_related("order")
    return tuple(locking.filter(pk__in=payment_ids).order_by("pk"))


def _know_payments(workflow: RefundWorkflow, payments: tuple[Payment, ...]) -> None:
    """Let the locked workflow refer to the locked payments and their order, instead of reading them once more."""
    for payment in payments:
        if payment.order_id == workflow.order_id:
            workflow.order = payment.order
        if payment.pk == workflow.refund_payment_id:
            workflow.refund_payment = payment
