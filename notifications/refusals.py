"""What a customer is told when something they asked for is not done. Pure.

Each text says only what holds in every state in which its code is used. The key is the code of the refusal.
"""

from types import MappingProxyType
from typing import Final

REFUSAL_TEXTS: Final = MappingProxyType(
    {
        # Withdrawing.
        "REFUND_EXISTS": (
            "A refund was already approved and recorded for this request, so it can no longer be withdrawn. "
            "The request shows where that refund stands."
        ),
        "ALREADY_CLOSED": "This request is already closed, so there is nothing to withdraw.",
        "STARTED_BY_STAFF": "Our billing team started this refund, so it can't be withdrawn here. Write to them.",
        "BEING_PASSED_ON": "We are passing this request to our billing team right now. Try again in a minute.",
        # Writing more.
        "REQUEST_CLOSED": "This request is closed. Ask for a person to look at it again, or start a new request.",
        "TOO_MANY_MESSAGES": "We keep no more messages for this request. What you wrote before is kept.",
        # Asking for a person.
        "REFUND_CONFIRMED": (
            "The refund of this request is confirmed, so this request stays as it is. "
            "If something else is wrong, start a new request."
        ),
        "REQUEST_WITHDRAWN": "This request was withdrawn. Start a new request, and ask for a person there.",
        "CLOSED_BY_STAFF": "Our billing team has closed this. If you need help, start a new request.",
        # Saying which order it is about.
        "ORDER_ALREADY_GIVEN": (
            "This request is about another order already. Start a new request for this one."
        ),
        "WITH_OUR_TEAM": "Our billing team has this request. Write the order number to them as a message.",
        "NO_LONGER_WAITING": "This request is closed. Start a new request for this order.",
    }
)
