"""The pages of customers."""

from refunds.states import OperationState, WorkflowState
from tests.browser.pages.place import Place
from tests.browser.people import describe
from tests.browser.shop import ABOVE_THE_LIMIT, page_of
from tests.factories import operation_in_state


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
    return Place("/support/", customer.user, send="Continue", shows="There is a problem")


def _check(shop, describe_it, shows):
    customer = shop.customer()
    order = shop.double_charge(customer, description="A floor lamp with a very long name")
    return Place(
        "/support/", customer.user, first=lambda page: describe_it(page, order), send="Continue", shows=shows
    )


def check(shop):
    return _check(shop, describe, "Sending this starts a check of your payment records")


def check_a_suggestion(shop):
    def only_tell(page, order):
        page.get_by_label("Tell us what happened").fill(f"{order.number} was charged twice. " + "Oh" * 200)

    return _check(shop, only_tell, "Is your request about this order?")


def check_without_an_order(shop):
    return _check(shop, lambda page, _order: describe(page), "You don't know the number")


def check_beside_an_open_request(shop):
    request = shop.waiting()
    return Place(
        "/support/",
        request.customer.user,
        first=lambda page: describe(page, request.order),
        send="Continue",
        shows="You already have an open request about this order",
    )


def requests_empty(shop):
    return Place("/support/requests/", shop.customer().user, shows="You have no requests")


def requests(shop):
    customer = shop.customer()
    for state in (WorkflowState.COMPLETED, WorkflowState.REJECTED, WorkflowState.MANUAL_REVIEW):
        shop.request(state, customer=customer)
    return Place("/support/requests/", customer.user, shows="was processed")


def _status(shop, state, shows):
    request = shop.request(state)
    return Place(page_of(request), request.customer.user, shows=shows)


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
        page_of(request), request.customer.user, shows="verifying its status with our payment processor"
    )


def _waits_for_order(shop, **more):
    customer = shop.customer()
    shop.double_charge(customer, description="A floor lamp with a very long name")
    return Place(page_of(shop.without_order(customer)), customer.user, **more)


def name_the_order(shop):
    return _waits_for_order(shop, shows="Use this order")


def confirm_the_suggested_order(shop):
    customer = shop.customer()
    order = shop.double_charge(customer)
    request = shop.suggested(customer, order.number)
    return Place(page_of(request), customer.user, shows="A computer program read what you wrote")


def name_the_order_with_errors(shop):
    return _waits_for_order(shop, send="Use this order", shows="There is a problem")


def _own_form(shop, action, **more):
    request = shop.waiting()
    return Place(page_of(request, action), request.customer.user, **more)


def add_information(shop):
    return _own_form(shop, "message/", shows="What do you want to add?")


def add_information_with_errors(shop):
    return _own_form(shop, "message/", send="Add information", shows="There is a problem")


def added_information(shop):
    def add(page):
        page.get_by_label("What do you want to add?").fill("It was on Monday.")

    return _own_form(
        shop, "message/", first=add, send="Add information", shows="What you wrote is kept with this request."
    )


def withdraw(shop):
    return _own_form(shop, "withdraw/", shows="Withdraw this request?")


def withdraw_too_late(shop):
    request = shop.request(WorkflowState.EXECUTING)
    return Place(page_of(request, "withdraw/"), request.customer.user, 409, shows="This was not done")


def ask_a_person(shop):
    return _own_form(shop, "person/", shows="We note that you asked.")
