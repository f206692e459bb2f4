"""What the page of a request that waits for its order suggests, where a model could read the customer's words."""

from dataclasses import dataclass
from typing import Final, Self

from notifications.suggestions import suggestion_texts
from refunds.customer.forms import OrderForm
from refunds.customer.orders import ANOTHER_ORDER, OrderChoice
from refunds.models import MessageReading, RefundWorkflow
from refunds.selectors.requests import get_newest_reading
from refunds.states import WorkflowState

_OUR_BUSINESS: Final = frozenset({"", "refund_duplicate_charge"})  # empty: the reading was of no use


@dataclass(frozen=True, slots=True)
class Suggestion:
    """``order_number`` is one of the customer's own or empty; ``texts`` are said beside it."""

    order_number: str
    texts: tuple[str, ...]

    @classmethod
    def of(cls, reading: MessageReading) -> Self:
        """Return what a reading suggests."""
        number = "" if reading.order_hint == MessageReading.HINT_UNKNOWN else reading.order_hint
        seems_other = reading.intent not in _OUR_BUSINESS
        return cls(number, suggestion_texts(order_number=number, seems_other=seems_other))

    def order_form(self, listed: list[OrderChoice]) -> OrderForm:
        """Return the question about the order with the suggested one chosen, or typed where it is not listed."""
        if self.order_number in {"", *(order.number for order in listed)}:
            return OrderForm(initial={"order": self.order_number or None})
        return OrderForm(initial={"order": ANOTHER_ORDER, "other_order": self.order_number})


NOTHING: Final = Suggestion("", ())


def suggestion_for(workflow: RefundWorkflow) -> Suggestion:
    """Return the suggestion for a request: one query while it waits for its order, otherwise none."""
    if workflow.order_id is not None or workflow.state != WorkflowState.EVIDENCE_PENDING:
        return NOTHING
    reading = get_newest_reading(workflow_id=workflow.pk)
    return NOTHING if reading is None else Suggestion.of(reading)
