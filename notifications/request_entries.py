"""What may be said of how a request began, waits and ends without a decision: strongest first. Pure.

Who started it, what it needs from its customer, who was asked for, and why it was closed stand in events; each
entry rests on the reason of the event that led here.
"""

from collections.abc import Callable
from typing import Final

from notifications.entry import STAFF, Entry, Stage
from notifications.facts import StatedFacts

UPDATE: Final = "We'll update you through the contact method on your account."


def nothing_was_sent(facts: StatedFacts) -> bool:
    """Say whether no refund of the request can have reached the processor."""
    return facts.operation_state in {None, "CREATED", "CANCELLED"} and not facts.other_operation_stands


def stands(*workflows: str) -> Callable[[StatedFacts], bool]:
    """Require one of these states of the request."""
    return lambda facts: facts.workflow_state in workflows


def stands_unsent(*workflows: str) -> Callable[[StatedFacts], bool]:
    """Require one of these states, and that nothing was sent."""
    return lambda facts: facts.workflow_state in workflows and nothing_was_sent(facts)


def _by_staff(*workflows: str) -> Callable[[StatedFacts], bool]:
    return lambda facts: facts.origin == STAFF and facts.workflow_state in workflows


def _because(workflow: str, reason: str) -> Callable[[StatedFacts], bool]:
    """Require what the event that led here proves; where a refund may stand, its own entries speak."""
    here = stands_unsent(workflow) if workflow == "WITHDRAWN" else stands(workflow)
    return lambda facts: here(facts) and facts.state_reason == reason


def _waits_for_order(facts: StatedFacts) -> bool:
    return facts.workflow_state == "EVIDENCE_PENDING" and not facts.order_number and nothing_was_sent(facts)


# Staff-started refunds: the finding says that staff asked for it, never that two charges were found.
STARTED_BY_STAFF: Final = (
    Entry(
        key="STARTED_BY_STAFF",
        stage=Stage.DECISION,
        heading="Our billing team is looking at a refund for {order}{under_ticket}.",
        body="They started it, so you don't need to do anything.",
        next=UPDATE,
        requires=_by_staff(
            *("EVIDENCE_PENDING", "EVIDENCE_VERIFIED", "ACTION_PROPOSED", "PROPOSAL_VALIDATED"),
            *("PROPOSAL_REJECTED", "REQUIRES_HUMAN_APPROVAL", "MANUAL_REVIEW"),
        ),
    ),
    Entry(
        key="CLOSED_BY_STAFF",
        stage=Stage.DECISION,
        heading="Our billing team looked at a refund for {order} and closed it.",
        body="They had started it, and don't work on it any more.",
        next="If you need help with {order}, ask us here.",
        requires=_by_staff("NO_REFUND_DUE", "REJECTED", "WITHDRAWN"),
        closed=True,
    ),
)

# How a request ended that was never decided; the last one holds for every other reason.
WITHDRAWN: Final = (
    Entry(
        key="WITHDRAWN_BY_YOU",
        stage=Stage.DECISION,
        heading="You withdrew this request{since}.",
        body="Nothing was refunded for it.",
        next="You can start a new request for {order} here.",
        requires=_because("WITHDRAWN", "WITHDRAWN_BY_CUSTOMER"),
        closed=True,
    ),
    Entry(
        key="NOT_ANSWERED",
        stage=Stage.RECEIVED,
        heading="We closed this request because we got no order number.",
        body="Without it we could not check your payments. Nothing was refunded for it.",
        next="You can ask again here. Choose the order, or type its number.",
        requires=_because("WITHDRAWN", "NOT_ANSWERED"),
        closed=True,
    ),
    Entry(
        key="ADDED_TO_OTHER_REQUEST",
        stage=Stage.RECEIVED,
        heading="You already had a request for that order: {attached_to}.",
        body="We added what you wrote to it and closed this one. Nothing was refunded for this one.",
        next="Follow {attached_to} in the list of your requests.",
        requires=lambda facts: _because("WITHDRAWN", "ATTACHED")(facts) and bool(facts.attached_to),
        closed=True,
    ),
    Entry(
        key="WITHDRAWN",
        stage=Stage.DECISION,
        heading="This request was withdrawn.",
        body="Nothing was refunded for it.",
        next="You can start a new request for {order} here.",
        requires=stands_unsent("WITHDRAWN"),
        closed=True,
    ),
)

PERSON_ASKED: Final = Entry(
    key="PERSON_ASKED",
    stage=Stage.DECISION,
    heading="You asked for a person. {the_request} is with our billing review team{under_ticket}.",
    body="You don't need to do anything, and asking again won't create a second refund.",
    next=UPDATE,
    requires=_because("MANUAL_REVIEW", "CUSTOMER_ASKED_PERSON"),
)

ORDER_NUMBER_NEEDED: Final = Entry(
    key="ORDER_NUMBER_NEEDED",
    stage=Stage.RECEIVED,
    heading="We need one thing from you: the order number.",
    body="Your request is saved. Without the number we can't check your payments. Nothing has been refunded yet.",
    next="Choose the order, or type its number. If we don't have it{answer_by}, we close this request.",
    requires=_waits_for_order,
)
