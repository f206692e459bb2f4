"""What the page before sending says: which order, which problem, and whether there is a request already."""

from dataclasses import dataclass
from typing import Final

from ledger.models import Order
from refunds.customer.orders import OrderChoice
from refunds.models import RefundWorkflow
from refunds.selectors.requests import list_requests
from refunds.stages.s01_authorize_request import SignedIn, authorize_request
from refunds.states import TERMINAL_WORKFLOW_STATES, Origin

PROBLEM: Final = "You were charged twice for one purchase."  # the one problem there is


@dataclass(frozen=True, slots=True)
class Understanding:
    """``order`` is None where the customer does not know it; ``suggested`` where only their words name it.

    ``open_request`` is the one that takes up what is sent, where there is one already.
    """

    order: OrderChoice | None
    suggested: bool
    open_request: RefundWorkflow | None
    problem: str = PROBLEM


def understand(*, signed_in: SignedIn, order_number: str, suggested: bool) -> Understanding:
    """Return what would be sent, in at most three queries; an empty number names no order.

    Raises ``OrderNotFoundError`` alike for foreign and missing orders.
    """
    order_id = authorize_request(signed_in=signed_in, order_number=order_number).order_id
    order = None if order_id is None else OrderChoice.of(Order.objects.get(pk=order_id))
    mine = list_requests(customer_id=signed_in.customer_id).filter(origin=Origin.CUSTOMER)
    same = mine.filter(order__isnull=True) if order_id is None else mine.filter(order_id=order_id)
    return Understanding(
        order=order,
        suggested=suggested,
        open_request=same.exclude(state__in=TERMINAL_WORKFLOW_STATES).last(),
    )
