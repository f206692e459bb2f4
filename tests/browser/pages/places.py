"""Every page that people see, each with the rows that it needs."""

from dataclasses import dataclass

from django.utils import timezone

from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.states import OperationState, WorkflowState
from tests.browser.shop import ABOVE_THE_LIMIT, ticket_of
from tests.factories import make_user, operation_in_state


@dataclass(frozen=True)
class Place:
    """Where to go, as whom, and what the page answers; ``send`` names a button that is pressed there."""

    path: str
    user: object = None
    status: int = 200
    send: str = ""
    shows: str = ""


def sign_in(_shop):
    return Place("/accounts/login/", shows="Sign in to see your requests")


def sign_in_with_errors(_shop):
    return Place("/accounts/login/", send="Sign in", shows="There is a problem")


def sign_out(shop):
    return Place("/accounts/logout/", shop.customer().user, shows="Sign out?")


def forgotten_password(_shop):
    return Place("/accounts/password/reset/", shows="password")


def not_found(shop):
    return Place("/support/requests/RF-0000-0000/", shop.customer().user, 404, shows="Page not found")


def not_found_signed_out(_shop):
    return Place("/nothing-here/", status=404, shows="Page not found")


def forbidden(shop):
    return Place("/admin/review/", shop.customer().user, 403, shows="You can't open this page")


def no_customer(shop):
    return Place("/support/", shop.reviewer(), 403, shows="This account has no orders here")


def ask(shop):
    customer = shop.customer()
    shop.double_charge(customer, description="A floor lamp with a very long name")
    shop.double_charge(customer, ABOVE_THE_LIMIT)
    return Place("/support/", customer.user, shows="What do you need help with?")


def ask_without_orders(shop):
    return Place("/support/", shop.customer().user, shows="This account has no orders here")


def ask_with_errors(shop):
    customer = shop.customer()
    shop.double_charge(customer)
    return Place("/support/", customer.user, send="Send request", shows="There is a problem")


def requests_empty(shop):
    return Place("/support/requests/", shop.customer().user, shows="You have no requests")


def requests(shop):
    customer = shop.customer()
    for state in (WorkflowState.COMPLETED, WorkflowState.REJECTED, WorkflowState.MANUAL_REVIEW):
        shop.request(state, customer=customer)
    return Place("/support/requests/", customer.user, shows="was processed")


def _status(shop, state, shows):
    request = shop.request(state)
    return Place(f"/support/requests/{request.reference}/", request.customer.user, shows=shows)


def status_received(shop):
    return _status(shop, WorkflowState.EVIDENCE_PENDING, "We've received your request.")


def status_completed(shop):
    return _status(shop, WorkflowState.COMPLETED, "was processed")


def status_with_people(shop):
    return _status(shop, WorkflowState.REQUIRES_HUMAN_APPROVAL, "billing review team")


def status_unknown(shop):
    operation = operation_in_state(
        OperationState.STATUS_UNKNOWN, order=shop.double_charge(shop.customer()), now=shop.now
    )
    request = operation.workflow
    return Place(
        f"/support/requests/{request.reference}/",
        request.customer.user,
        shows="verifying its status with our payment processor",
    )


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


PLACES = (
    *(sign_in, sign_in_with_errors, sign_out, forgotten_password, not_found, not_found_signed_out, forbidden),
    *(no_customer, ask, ask_without_orders, ask_with_errors, requests_empty, requests),
    *(status_received, status_completed, status_with_people, status_unknown),
    *(queue_empty, queue, queue_without_a_match, no_merchant, case, case_with_attempts),
    *(approve, approve_with_errors, reject),
    *(scoreboard, claimed_case, read_again, rebuild, close, close_with_errors),
)
