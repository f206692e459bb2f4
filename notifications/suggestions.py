"""What a customer is told of a model's reading of their words, while they still have to name the order. Pure.

Each says who read and that nothing follows from it: the customer answers, and rows decide.
"""

from types import MappingProxyType
from typing import Final

from notifications.entry import order_text

_TEXTS: Final = MappingProxyType(
    {
        "ORDER_SUGGESTED": (
            "A computer program read what you wrote and suggests {order}. It can be wrong, and nothing was decided: "
            "check the order and send it yourself."
        ),
        "SEEMS_OTHER": (
            "A computer program read what you wrote, and it may be about something other than a double charge. "
            "It can be wrong, and nothing was decided. Here we check double charges of one order. For anything "
            "else, ask a person."
        ),
    }
)


def suggestion_texts(*, order_number: str, seems_other: bool) -> tuple[str, ...]:
    """Return the sentences for one reading: none where it suggests no order and sees nothing else."""
    keys = (("SEEMS_OTHER",) if seems_other else ()) + (("ORDER_SUGGESTED",) if order_number else ())
    return tuple(_TEXTS[key].format(order=order_text(order_number)) for key in keys)
