"""Why something that a customer asked for is not done; nothing was written then. Pure.

``code`` is stable and ``text`` is for the customer; both come from ``notifications.refusals``.
"""

from notifications.refusals import REFUSAL_TEXTS


class RequestNotFoundError(Exception):
    """If you see this, the request does not exist or is somebody else's: callers must not tell which."""


class ActionRefusedError(Exception):
    """If you see this, the state of an own request does not allow what its customer asked for."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code, self.text = code, REFUSAL_TEXTS[code]


class WithdrawRefusedError(ActionRefusedError):
    """If you see this, it is too late: REFUND_EXISTS, ALREADY_CLOSED, STARTED_BY_STAFF, BEING_PASSED_ON."""


class MessageRefusedError(ActionRefusedError):
    """If you see this, no more words are kept: REQUEST_CLOSED, TOO_MANY_MESSAGES."""


class PersonRefusedError(ActionRefusedError):
    """If you see this, no person can take it up: REFUND_CONFIRMED, REQUEST_WITHDRAWN, CLOSED_BY_STAFF."""


class OrderRefusedError(ActionRefusedError):
    """If you see this, no order is awaited: ORDER_ALREADY_GIVEN, WITH_OUR_TEAM, NO_LONGER_WAITING."""
