"""One merchant with its customers, staff and orders, apart from those of every other test."""

from datetime import timedelta

from django.utils import timezone

from approvals.models import ReviewCase
from refunds.models import RefundWorkflow
from refunds.states import WorkflowState
from tests.factories import (
    make_customer,
    make_duplicate_order,
    make_merchant,
    make_order,
    make_payment,
    make_policy,
    make_reading,
    make_staff,
    open_without_order,
    workflow_in_state,
)

PASSWORD = "a long enough pass phrase"
BELOW_THE_LIMIT, ABOVE_THE_LIMIT = 4_999, 14_900


class Shop:
    """Rows of now, since the product's processes live by the real clock."""

    def __init__(self, gateway=None):
        self.gateway = gateway
        self.now = timezone.now() - timedelta(seconds=1)
        self.merchant = make_merchant(name="Northwind Lamps")
        make_policy(merchant=self.merchant, effective_from=self.now - timedelta(days=60))

    def customer(self, **columns):
        return make_customer(merchant=self.merchant, **columns)

    def reviewer(self, **columns):
        return make_staff(merchant=self.merchant, **columns)

    def double_charge(self, customer, amount=BELOW_THE_LIMIT, **columns):
        """An order that was charged twice, here and in the provider's book."""
        made = make_duplicate_order(customer=customer, amount_minor_units=amount, now=self.now, **columns)
        for payment in (made.kept, made.refunded) if self.gateway else ():
            self.gateway.seed_charge(payment.processor_reference, amount=amount)
        return made.order

    def hold_beside_a_charge(self, customer):
        """An order that was charged once, with a hold of the same amount beside it."""
        order = make_order(customer=customer, placed_at=self.now - timedelta(hours=2))
        for captured in (True, False):
            make_payment(order=order, captured=captured, at=order.placed_at, refreshed_at=self.now)
        return order

    def request(self, state=WorkflowState.COMPLETED, *, customer=None, amount=BELOW_THE_LIMIT, **more):
        """A request in ``state``, without any process that would take it on."""
        order = self.double_charge(customer or self.customer(), amount)
        return workflow_in_state(state, order=order, now=self.now, **more)

    def waiting(self, **more):
        """A request above the automatic limit that waits for a person."""
        return self.request(
            WorkflowState.REQUIRES_HUMAN_APPROVAL,
            amount=ABOVE_THE_LIMIT,
            reason="APPROVAL_THRESHOLD",
            **more,
        )

    def without_order(self, customer):
        """A request that waits for its customer to name an order."""
        return open_without_order(customer=customer, now=self.now)

    def suggested(self, customer, number):
        """A request without an order for which a model suggests one."""
        workflow = self.without_order(customer)
        make_reading(workflow, order_hint=number, at=self.now)
        return workflow


def page_of(workflow, action=""):
    """The address of a request's page, or of one of its forms."""
    return f"/support/requests/{workflow.reference}/{action}"


def request_of(order):
    return RefundWorkflow.objects.get(order=order)


def has_state(order, state):
    return RefundWorkflow.objects.filter(order=order, state=state).exists()


def now_in(workflow, state):
    return RefundWorkflow.objects.filter(pk=workflow.pk, state=state).exists()


def ticket_of(workflow):
    return ReviewCase.objects.filter(subject_id=workflow.pk).latest("ticket").ticket
