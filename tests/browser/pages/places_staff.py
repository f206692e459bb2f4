"""The pages of billing staff."""

from datetime import timedelta

from django.utils import timezone

from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.casework.provider_evidence import ProviderStatement
from refunds.states import OperationState, WorkflowState
from tests.browser.pages.place import Place
from tests.browser.shop import ticket_of
from tests.factories import add_check, make_user, move_workflow, operation_in_state


def queue_empty(shop):
    return Place("/admin/review/", shop.reviewer(), shows="Nothing is waiting.")


def queue(shop):
    for needed in (1, 2):
        shop.waiting(approvals_needed=needed)
    shop.request(WorkflowState.MANUAL_REVIEW, reason="CONFLICTING_ROWS")
    return Place("/admin/review/", shop.reviewer(), shows="3 open cases")


def queue_without_a_match(shop):
    shop.waiting()
    return Place("/admin/review/?q=0000", shop.reviewer(), shows="No case matches.")


def no_merchant(shop):
    return Place("/admin/review/", make_user(is_staff=True), 403, shows="You work for no merchant")


def case(shop):
    return Place(
        f"/admin/review/{ticket_of(shop.waiting())}/", shop.reviewer(), shows="Approve refund of $149.00"
    )


def case_with_attempts(shop):
    operation = operation_in_state(
        OperationState.MANUAL_REVIEW, order=shop.double_charge(shop.customer()), now=shop.now
    )
    return Place(
        f"/admin/review/{ticket_of(operation.workflow)}/", shop.reviewer(), shows="Reconciliation checks"
    )


def look_up(shop):
    operation = operation_in_state(
        OperationState.MANUAL_REVIEW, order=shop.double_charge(shop.customer()), now=shop.now
    )
    path = f"/admin/review/{ticket_of(operation.workflow)}/look-up/{operation.pk}/"
    return Place(path, shop.reviewer(), shows="Check the refund of $49.99 again?")


def _doubted(shop):
    """A case whose one operation nothing proves: it is of yesterday, and the provider was asked just now."""
    shop.now -= timedelta(days=1)
    operation = operation_in_state(
        OperationState.MANUAL_REVIEW, order=shop.double_charge(shop.customer()), now=shop.now
    )
    add_check(operation, now=timezone.now())
    reviewer = shop.reviewer()
    action = CaseAction(
        ticket=ticket_of(operation.workflow), staff_user_id=reviewer.pk, reason_code="PROVIDER_HAS_NO_REFUND"
    )
    pipeline.claim_case(action=action, now=timezone.now())
    return operation, reviewer, action


def reference(shop):
    operation, reviewer, action = _doubted(shop)
    path = f"/admin/review/{action.ticket}/reference/{operation.pk}/"
    return Place(path, reviewer, shows="Look up a refund of $49.99?")


def give_up(shop):
    operation, reviewer, action = _doubted(shop)
    path = f"/admin/review/{action.ticket}/give-up/{operation.pk}/"
    return Place(path, reviewer, shows="Nothing changes until a second person confirms.")


def give_up_with_errors(shop):
    operation, reviewer, action = _doubted(shop)
    path = f"/admin/review/{action.ticket}/give-up/{operation.pk}/"
    button = "Propose to give up the refund of $49.99"
    return Place(path, reviewer, send=button, shows="Choose where you looked.")


def _proposed(shop):
    operation, _, action = _doubted(shop)
    now = timezone.now()
    found = ProviderStatement(
        source="SUPPORT_ANSWER", seen_at=now, provider_reference="chat_7", words="No refund has this key."
    )
    approval_id = pipeline.propose_cancellation(
        action=action, operation_id=operation.pk, found=found, now=now
    )
    return f"/admin/review/{action.ticket}/", approval_id


def case_with_a_proposal(shop):
    path, _ = _proposed(shop)
    return Place(path, shop.reviewer(), shows="Confirm giving up the refund of $49.99")


def confirm_give_up(shop):
    path, approval_id = _proposed(shop)
    return Place(f"{path}confirm/{approval_id}/", shop.reviewer(), shows="No refund has this key.")


def decline_give_up(shop):
    path, approval_id = _proposed(shop)
    return Place(f"{path}decline/{approval_id}/", shop.reviewer(), shows="The proposal ends.")


def close_completed(shop):
    operation = operation_in_state(
        OperationState.COMPLETED, order=shop.double_charge(shop.customer()), now=shop.now
    )
    move_workflow(operation.workflow, WorkflowState.MANUAL_REVIEW, reason="CONFLICTING_ROWS")
    reviewer, ticket = shop.reviewer(), ticket_of(operation.workflow)
    pipeline.claim_case(action=CaseAction(ticket=ticket, staff_user_id=reviewer.pk), now=timezone.now())
    return Place(f"/admin/review/{ticket}/close-completed/", reviewer, shows="Close as completed?")


def _decide(shop, decision, **more):
    path = f"/admin/review/{ticket_of(shop.waiting())}/{decision}/"
    return Place(path, shop.reviewer(), **more)


def approve(shop):
    return _decide(shop, "approve", shows="Refunds can't be cancelled")


def approve_with_errors(shop):
    return _decide(shop, "approve", send="Approve refund of $149.00", shows="Choose a reason.")


def reject(shop):
    return _decide(shop, "reject", shows="The charges are two purchases")


def scoreboard(_shop):
    return Place(
        "/admin/review/scoreboard/",
        make_user(is_staff=True, is_superuser=True),
        shows="Each row is one question",
    )


def _claimed(shop, action="", **more):
    """A case of people, lent to the reviewer who looks at it."""
    ticket = ticket_of(shop.request(WorkflowState.MANUAL_REVIEW, reason="CONFLICTING_ROWS"))
    reviewer = shop.reviewer()
    pipeline.claim_case(action=CaseAction(ticket=ticket, staff_user_id=reviewer.pk), now=timezone.now())
    return Place(f"/admin/review/{ticket}/{action}", reviewer, **more)


def claimed_case(shop):
    return _claimed(shop, shows="payment records contradict each other")


def read_again(shop):
    return _claimed(shop, "read-again/", shows="Read the evidence again?")


def rebuild(shop):
    return _claimed(shop, "rebuild/", shows="Rebuild the command from facts?")


def close(shop):
    return _claimed(shop, "close/", shows="Close without a refund?")


def close_with_errors(shop):
    return _claimed(shop, "close/", send="Close without a refund", shows="There is a problem")
