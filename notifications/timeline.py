"""One line of a request's story for each event that a customer may read. Pure.

Each line says what that one event proves, in the past tense, and stays when a later event changes the picture.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Subject(StrEnum):
    """What moved."""

    REQUEST = "REQUEST"
    REFUND = "REFUND"


@dataclass(frozen=True, slots=True)
class Line:
    """A stable key and its words."""

    key: str
    text: str


ANY: Final = "*"
MESSAGE: Final = Line("MESSAGE_RECEIVED", "You wrote to us about this request again.")
# Events that move nothing, by their reason.
RECORDS: Final = {
    "ORDER_GIVEN": Line("ORDER_GIVEN", "You told us which order this is about."),
    "CUSTOMER_ASKED_PERSON": Line("PERSON_ASKED", "You asked for a person."),
}
RECEIPT: Final = Line("RECEIPT_SENT", "We sent the receipt by e-mail.")
_REQUEST: Final = {
    ("", "EVIDENCE_PENDING"): Line("REQUEST_SAVED", "We saved your request."),
    (ANY, "EVIDENCE_PENDING"): Line("CHECKING_AGAIN", "We began to check your payment records again."),
    (ANY, "EVIDENCE_VERIFIED"): Line("PAYMENTS_COMPARED", "We compared the payments of the order."),
    (ANY, "REQUIRES_HUMAN_APPROVAL"): Line("REVIEW_ASKED", "We asked our billing review team to decide."),
    (ANY, "APPROVED"): Line("REFUND_APPROVED", "A refund was approved."),
    (ANY, "MANUAL_REVIEW"): Line("PASSED_TO_PEOPLE", "We passed your request to our billing team."),
    (ANY, "NO_REFUND_DUE"): Line("NO_REFUND_DUE", "We closed the request: no refund is due."),
    ("REQUIRES_HUMAN_APPROVAL", "REJECTED"): Line(
        "NOT_APPROVED", "Our billing team did not approve a refund."
    ),
    ("MANUAL_REVIEW", "REJECTED"): Line("NOT_APPROVED", "Our billing team did not approve a refund."),
    (ANY, "REJECTED"): Line("REQUEST_CLOSED", "We closed the request."),
    (ANY, "WITHDRAWN"): Line("WITHDRAWN", "The request was withdrawn."),
}
# Where the reason of an event says more than its states do.
_BECAUSE: Final = {
    ("WITHDRAWN", "WITHDRAWN_BY_CUSTOMER"): Line("WITHDRAWN", "You withdrew the request."),
    ("WITHDRAWN", "NOT_ANSWERED"): Line("NOT_ANSWERED", "We closed the request: we got no order number."),
    ("WITHDRAWN", "ATTACHED"): Line(
        "ATTACHED", "We added what you wrote to a request that you already had for that order."
    ),
    ("MANUAL_REVIEW", "CUSTOMER_ASKED_PERSON"): Line(
        "PERSON_ASKED", "You asked for a person, and we passed your request to our billing team."
    ),
    # Why people close a request whose refund stands; one that is confirmed closes it by itself, for another reason.
    **{
        ("COMPLETED", reason): Line("CLOSED_BY_PEOPLE", "Our billing team closed the request.")
        for reason in ("STANDS_ONCE", "PAID_TWICE_KEPT", "PAID_TWICE_SETTLED", "OTHER")
    },
}
# A refund that our staff started: the customer asked for nothing, and no request of theirs is told of.
_BY_STAFF: Final = {
    ("", "EVIDENCE_PENDING"): Line("STARTED_BY_STAFF", "Our billing team started a refund."),
    (ANY, "MANUAL_REVIEW"): Line("PASSED_TO_PEOPLE", "Our billing team began to check it."),
    (ANY, "NO_REFUND_DUE"): Line("NO_REFUND_DUE", "We closed it: no refund is due."),
    (ANY, "REJECTED"): Line("REQUEST_CLOSED", "We closed it."),
}
_REFUND: Final = {
    ("SUBMITTED", "CREATED"): Line(
        "ATTEMPT_NOT_MADE", "That attempt did not get through. It made no refund."
    ),
    ("CONFIRMED_ABSENT", "SUBMITTED"): Line(
        "SENDING_STARTED_AGAIN", "We began to send the same refund to our payment processor."
    ),
    (ANY, "SUBMITTED"): Line("SENDING_STARTED", "We began to send the refund to our payment processor."),
    (ANY, "PROVIDER_PENDING"): Line(
        "PENDING_AT_PROCESSOR",
        "Our payment processor reported that it has the refund and has not finished it.",
    ),
    ("SUBMITTED", "STATUS_UNKNOWN"): Line(
        "ANSWER_MISSING", "We did not get a final answer, so we began verifying the refund's status."
    ),
    (ANY, "STATUS_UNKNOWN"): Line(
        "VERIFYING", "We began verifying the refund's status with our payment processor."
    ),
    (ANY, "CONFIRMED_ABSENT"): Line("ATTEMPT_ABSENT", "We found no refund from that attempt."),
    (ANY, "MANUAL_REVIEW"): Line(
        "FINANCE_CHECKING", "Our finance team began to check the refund with our payment processor."
    ),
    (ANY, "COMPLETED"): Line("REFUND_CONFIRMED", "Our payment processor confirmed the refund."),
    (ANY, "REJECTED"): Line("NOT_ACCEPTED", "Our payment processor did not accept the refund."),
    (ANY, "FAILED"): Line(
        "DID_NOT_GO_THROUGH", "Our payment processor reported that the refund did not go through."
    ),
    (ANY, "CANCELLED"): Line("REFUND_CANCELLED", "The approved refund was cancelled."),
}
# An attempt that was refused before a byte left: nothing began to be sent, and no processor refused it.
_UNSENT: Final = {
    (ANY, "SUBMITTED"): None,
    (ANY, "REJECTED"): Line("NOT_SENT", "We could not send the refund. Nothing was sent."),
}
_LINES: Final = {Subject.REQUEST: _REQUEST, Subject.REFUND: _REFUND}


def line_for(
    subject: Subject,
    *,
    from_state: str,
    to_state: str,
    reason: str = "",
    unsent: bool = False,
    by_staff: bool = False,
) -> Line | None:
    """Return the line of one transition, or None where another line tells it already.

    ``unsent``: the transition belongs to an attempt of a refund that was refused before anything was sent.
    ``by_staff``: nobody but staff asked for the refund.
    """
    if unsent and (ANY, to_state) in _UNSENT:
        return _UNSENT[ANY, to_state]
    if subject is Subject.REQUEST:
        if (to_state, reason) in _BECAUSE:
            return _BECAUSE[to_state, reason]
        if by_staff and (line := _BY_STAFF.get((from_state, to_state)) or _BY_STAFF.get((ANY, to_state))):
            return line
    lines = _LINES[subject]
    return lines.get((from_state, to_state)) or (lines.get((ANY, to_state)) if from_state else None)
