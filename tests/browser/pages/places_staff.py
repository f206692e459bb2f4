"""The pages of billing staff."""

from django.utils import timezone

from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.states import OperationState, WorkflowState
from tests.browser.pages.place import Place
from tests.browser.shop import ticket_of
from tests.factories import make_user, operation_in_state


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
