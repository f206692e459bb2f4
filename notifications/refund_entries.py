"""What may be said once a refund operation leads: strongest first. Pure.

A refund is claimed only where the operation is COMPLETED and the provider's reference is there. A lost answer is
"being verified": neither failed nor sent. Source: stages 9 to 13 and the degrade table.
"""

from collections.abc import Callable
from typing import Final

from notifications.entry import STAFF, Entry, Stage, has_amount, has_other_refunds
from notifications.facts import Receipt, StatedFacts

_UPDATE: Final = "We'll update you through the contact method on your account."


def _confirmed(*receipts: Receipt) -> Callable[[StatedFacts], bool]:
    def requires(facts: StatedFacts) -> bool:
        return (
            facts.workflow_state == facts.operation_state == "COMPLETED"
            and bool(facts.processor_reference)
            and has_amount(facts)
            and facts.receipt in (receipts or tuple(Receipt))
        )

    return requires


def _leads(operation: str, *workflows: str) -> Callable[[StatedFacts], bool]:
    def requires(facts: StatedFacts) -> bool:
        return facts.operation_state == operation and (not workflows or facts.workflow_state in workflows)

    return requires


def _leads_alone(operation: str, *workflows: str) -> Callable[[StatedFacts], bool]:
    """Require also that no other operation may have moved money: only then "no money" is proven."""
    leads = _leads(operation, *workflows)
    return lambda facts: leads(facts) and not facts.other_operation_stands


def _was_confirmed(*operations: str) -> Callable[[StatedFacts], bool]:
    def requires(facts: StatedFacts) -> bool:
        return facts.completed_at is not None and facts.operation_state in operations

    return requires


def _people_hold_it(facts: StatedFacts) -> bool:
    # Refused, failed and cancelled operations are over: the request alone says where it stands.
    over = facts.operation_state in {None, "REJECTED", "FAILED", "CANCELLED"}
    return facts.workflow_state == "MANUAL_REVIEW" and (not over or facts.other_operation_stands)


def _not_made(key: str, heading: str, body: str, proof: Callable[[StatedFacts], bool]) -> tuple[Entry, Entry]:
    """Return what is said of a refused operation: while people look at it, and once the request is closed."""
    with_people, closed = _leads_alone("REJECTED", "MANUAL_REVIEW"), _leads_alone("REJECTED", "REJECTED")
    return (
        Entry(
            key=key,
            stage=Stage.REFUND,
            heading=heading,
            body=body + " Our billing team is looking at {order}{under_ticket}.",
            next=_UPDATE,
            requires=lambda facts: with_people(facts) and proof(facts),
        ),
        Entry(
            key=f"{key}_CLOSED",
            stage=Stage.REFUND,
            heading=heading,
            body=body + " The request is closed.",
            next="If you still need help with {order}, ask us again here.",
            requires=lambda facts: closed(facts) and proof(facts),
            closed=True,
        ),
    )


# A look-up found a refund of the charge that this desk did not make, and none of ours.
_ALREADY_REFUNDED: Final = _not_made(
    "REFUND_ALREADY_MADE_ELSEWHERE",
    "The charge for {order} was already refunded.",
    "Our payment processor shows a refund of it that did not go out under this request, so no second one was made.",
    lambda facts: facts.state_reason == "REFUNDED_ELSEWHERE",
)
# A processor that was never asked refused nothing, and that it refused says nothing about other refunds.
_NOT_MADE: Final = (
    *_not_made(
        "REFUND_NOT_ACCEPTED",
        "Our payment processor did not accept this refund.",
        "It refused what we sent, so this refund was not made.",
        lambda facts: facts.provider_answered,
    ),
    *_not_made(
        "REFUND_NOT_SENT",
        "We could not send this refund.",
        "Nothing was sent to our payment processor for this request.",
        lambda facts: facts.refused_before_sending,
    ),
    *_not_made(
        "REFUND_NOT_MADE",
        "This refund could not be made through our payment processor.",
        "It did not go out under this request.",
        lambda _facts: True,
    ),
)

REFUND_ENTRIES: Final = (
    Entry(
        key="REFUNDS_CONFIRMED",
        stage=Stage.REFUND,
        heading="More than one refund was made for {order}.",
        body=(
            "Our payment processor confirmed {amount} (reference {processor_reference}) and {other_refunds}. "
            "Our billing team has closed the request."
        ),
        next="Your bank decides when they appear on your statement.",
        requires=lambda facts: _confirmed()(facts) and has_other_refunds(facts),
        closed=True,
    ),
    Entry(
        key="REFUND_CONFIRMED_RECEIPT_DELAYED",
        stage=Stage.REFUND,
        heading="Your refund of {amount} for {order} has been confirmed.",
        body=(
            "Our payment processor confirmed it{to_card}. The receipt e-mail is delayed, but the transaction "
            "reference is here: {processor_reference}."
        ),
        next="We keep trying to deliver the receipt. Your bank decides when the refund appears.",
        requires=_confirmed(Receipt.DELAYED),
        closed=True,
    ),
    Entry(
        key="REFUND_CONFIRMED_RECEIPT_UNDELIVERED",
        stage=Stage.REFUND,
        heading="Your refund of {amount} for {order} has been confirmed.",
        body=(
            "Our payment processor confirmed it{to_card}. The receipt e-mail could not be delivered, but the "
            "transaction reference is here: {processor_reference}."
        ),
        next="Keep the reference from this page. Your bank decides when the refund appears.",
        requires=_confirmed(Receipt.FAILED),
        closed=True,
    ),
    Entry(
        key="REFUND_CONFIRMED",
        stage=Stage.REFUND,
        heading="Your refund of {amount} for {order} was processed.",
        body=(
            "Our payment processor confirmed it{on_completed}{to_card}. "
            "Transaction reference: {processor_reference}."
        ),
        next="Your bank decides when it appears on your statement.",
        requires=_confirmed(),
        closed=True,
    ),
    Entry(
        key="REFUND_RETURNED",
        stage=Stage.REFUND,
        heading="The refund for {order} did not stay in place.",
        body=(
            "We recorded it as confirmed{on_completed}. That has changed: our payment processor now reports that "
            "it did not go through. Our billing team is looking at it{under_ticket}."
        ),
        next=_UPDATE,
        requires=_was_confirmed("FAILED"),
    ),
    Entry(
        key="REFUND_NO_LONGER_CONFIRMED",
        stage=Stage.REFUND,
        heading="The refund for {order} is no longer confirmed.",
        body=(
            "We recorded it as confirmed{on_completed}. Our payment processor has reported a change since, and our "
            "finance team is checking it{under_ticket}."
        ),
        next=_UPDATE,
        requires=_was_confirmed("MANUAL_REVIEW", "PROVIDER_PENDING"),
    ),
    Entry(
        key="REFUND_BY_STAFF_BEING_VERIFIED",
        stage=Stage.REFUND,
        heading="We started a refund for you and are verifying its status with our payment processor.",
        body=(
            "We have not received a final answer about the refund for {order}, so we look it up. "
            "Asking about it won't create a second refund."
        ),
        next="We'll update you when it is confirmed.",
        requires=lambda facts: facts.operation_state == "STATUS_UNKNOWN" and facts.origin == STAFF,
    ),
    Entry(
        key="REFUND_BEING_VERIFIED",
        stage=Stage.REFUND,
        heading="We received your refund request and are verifying its status with our payment processor.",
        body=(
            "We have not received a final answer about the refund for {order}, so we look it up. "
            "Asking again won't create a second refund."
        ),
        next="We'll update you when it is confirmed.",
        requires=_leads("STATUS_UNKNOWN"),
    ),
    Entry(
        key="REFUND_WITH_FINANCE",
        stage=Stage.REFUND,
        heading="We still can't confirm what happened to this refund.",
        body=(
            "Our finance team is checking the refund for {order} with our payment processor{under_ticket}. "
            "Until we know, no other refund is started for this request."
        ),
        next=_UPDATE,
        requires=_leads("MANUAL_REVIEW", "MANUAL_REVIEW", "EXECUTING"),
    ),
    Entry(
        key="REFUND_PENDING_AT_PROCESSOR",
        stage=Stage.REFUND,
        heading="Your refund has been submitted and is processing.",
        body="Our payment processor has the refund for {order} and has not finished it. It isn't confirmed yet.",
        next="We'll update you when it is confirmed.",
        requires=_leads("PROVIDER_PENDING"),
    ),
    Entry(
        key="REFUND_ATTEMPT_ABSENT",
        stage=Stage.REFUND,
        heading="Our payment processor has no refund from our first attempt.",
        body=(
            "We looked it up. The same refund for {order} is still approved, and there is only one. "
            "Nothing has been refunded yet."
        ),
        next="We'll update you when it is confirmed.",
        requires=_leads_alone("CONFIRMED_ABSENT", "EXECUTING"),
    ),
    *_ALREADY_REFUNDED,
    *_NOT_MADE,
    Entry(
        key="REFUND_DID_NOT_GO_THROUGH",
        stage=Stage.REFUND,
        heading="Our payment processor could not complete this refund.",
        body=(
            "It reports that the refund for {order} did not go through. "
            "Our billing team is looking at it{under_ticket}."
        ),
        next=_UPDATE,
        requires=_leads_alone("FAILED", "MANUAL_REVIEW"),
    ),
    Entry(
        key="REFUND_BEING_SENT",
        stage=Stage.REFUND,
        heading="Your refund is approved and we're sending it to our payment processor.",
        body="The refund for {order} isn't confirmed yet.",
        next="We'll update you when it is confirmed.",
        requires=_leads("SUBMITTED", "EXECUTING"),
    ),
    Entry(
        key="REFUND_NOT_SENT_YET",
        stage=Stage.REFUND,
        heading="Your refund is approved.",
        body="Our payment processor does not have it yet. Nothing has been refunded for {order} yet.",
        next="We'll update you when it is confirmed.",
        requires=_leads_alone("CREATED", "EXECUTING"),
    ),
    Entry(
        key="REFUND_UNDER_REVIEW",
        stage=Stage.REFUND,
        heading="{the_request} is with our billing team{under_ticket}.",
        body="They are checking what our payment processor holds for it. Asking again won't create a second refund.",
        next=_UPDATE,
        requires=_people_hold_it,
    ),
)
