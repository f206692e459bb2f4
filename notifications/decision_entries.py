"""What may be said while no refund operation leads: strongest first. Pure.

Explanations rest on the finding of stage 5 and its ledger rows. "Nothing has been refunded" needs the proof that
nothing was sent.
"""

from collections.abc import Callable
from typing import Final

from ledger.findings import Finding, ReasonCode
from notifications.entry import Entry, Stage, has_amount
from notifications.facts import StatedFacts
from notifications.request_entries import (
    ORDER_NUMBER_NEEDED,
    PERSON_ASKED,
    STARTED_BY_STAFF,
    UPDATE,
    WITHDRAWN,
    nothing_was_sent,
    stands,
    stands_unsent,
)

_ASK_AGAIN: Final = "If your statement shows something else, ask us again here and tell us what you see."
_CLOSE_THE_PAGE: Final = "You can close this page and come back to it."


def _not_due(reason: ReasonCode, *, named: bool = False) -> Callable[[StatedFacts], bool]:
    def requires(facts: StatedFacts) -> bool:
        return (
            facts.workflow_state == "NO_REFUND_DUE"
            and facts.finding == Finding.NO_DUPLICATE_FOUND
            and facts.reason_code == reason
            and (not named or bool(facts.other_order_numbers))
        )

    return requires


def _approved(facts: StatedFacts) -> bool:
    return facts.workflow_state == "APPROVED" and nothing_was_sent(facts) and has_amount(facts)


def _approved_duplicate(facts: StatedFacts) -> bool:
    return _approved(facts) and facts.finding == Finding.VERIFIED_DUPLICATE_CHARGE


def _explanation(
    key: str, reason: ReasonCode, heading: str, body: str, after: str = _ASK_AGAIN, *, named: bool = False
) -> Entry:
    return Entry(
        key=key,
        stage=Stage.DECISION,
        heading=heading,
        body=body,
        next=after,
        requires=_not_due(reason, named=named),
        closed=True,
    )


EXPLANATIONS: Final = (
    _explanation(
        "CHARGE_AND_HOLD",
        ReasonCode.AUTHORISATION_HOLD,
        "We found one completed charge and a temporary hold for {order}.",
        "A hold is not a charge, so there is nothing on it to refund. Your bank decides when it disappears.",
        "If both become completed charges, ask us again here.",
    ),
    _explanation(
        "CHARGE_AND_RELEASED_HOLD",
        ReasonCode.HOLD_RELEASED,
        "We found one completed charge for {order} and a hold that was released.",
        "A hold is not a charge, so there is nothing on it to refund.",
    ),
    _explanation(
        "CHARGE_REVERSED",
        ReasonCode.CHARGE_AND_REVERSAL,
        "A charge for {order} was already reversed.",
        "Our payment records show one charge and a reversal.{returned}",
    ),
    _explanation(
        "CHARGE_LISTED_TWICE",
        ReasonCode.REPEATED_DISPLAY_EVENT,
        "We found one completed charge for {order}.",
        "It was listed more than once, but our payment records hold it as one charge.",
    ),
    _explanation(
        "TWO_OF_YOUR_ORDERS",
        ReasonCode.TWO_ORDERS,
        "The charges belong to different orders of yours: {order} and {other_orders}.",
        "Each of these orders has one completed charge of the same amount.",
        named=True,
    ),
    _explanation(
        "TWO_OF_YOUR_ORDERS_UNNAMED",
        ReasonCode.TWO_ORDERS,
        "The charges belong to different orders of yours.",
        "We found one completed charge for {order} and one of the same amount for another order.",
    ),
    _explanation(
        "CHARGES_WITHIN_TOTAL",
        ReasonCode.TOTAL_COVERS_BOTH,
        "The two charges for {order} are within its total.",
        "Together they are not more than what the order cost.",
    ),
    _explanation(
        "DIFFERENT_CURRENCIES",
        ReasonCode.DIFFERENT_CURRENCIES,
        "The two charges for {order} are in different currencies.",
        "Our payment records do not show the same charge twice.",
    ),
    _explanation(
        "ALREADY_RETURNED",
        ReasonCode.ALREADY_REFUNDED,
        "A charge for {order} was already returned.",
        "Our payment records show that this was done before.{returned}",
    ),
    _explanation(
        "PARTLY_RETURNED",
        ReasonCode.EARLIER_PARTIAL_REFUND,
        "Part of a charge for {order} was already returned.",
        "Our payment records show that this was done before.{returned}",
    ),
    _explanation(
        "ONE_CHARGE",
        ReasonCode.SINGLE_CHARGE,
        "We found one completed charge for {order}.",
        "Our payment records show no second one.",
        "If your statement shows two, ask us again here with the date and the last four digits shown there.",
    ),
    _explanation(
        "NO_CHARGE",
        ReasonCode.NO_COMPLETED_CAPTURE,
        "We found no completed charge for {order}.",
        "Our payment records show nothing that could be refunded.",
    ),
)

DECISION_ENTRIES: Final = (
    Entry(
        key="DUPLICATE_APPROVED",
        stage=Stage.DECISION,
        heading="We found two completed charges of {amount} for {order}.",
        body="A refund of one of them is approved. It has not been sent to our payment processor yet.",
        next="We'll update you when it is confirmed.",
        requires=_approved_duplicate,
    ),
    Entry(
        key="REFUND_APPROVED",
        stage=Stage.DECISION,
        heading="A refund of {amount} for {order} is approved.",
        body="It has not been sent to our payment processor yet.",
        next="We'll update you when it is confirmed.",
        requires=_approved,
    ),
    Entry(
        key="BANK_DISPUTE",
        stage=Stage.DECISION,
        heading="Your bank is already handling a dispute for this charge.",
        body="We can't refund the same charge here while it is open. Our billing team has {order}{under_ticket}.",
        next=UPDATE,
        requires=lambda facts: (
            facts.workflow_state == "MANUAL_REVIEW" and facts.reason_code == ReasonCode.DISPUTE_OPEN
        ),
    ),
    *STARTED_BY_STAFF,
    PERSON_ASKED,
    Entry(
        key="WITH_REVIEW_TEAM",
        stage=Stage.DECISION,
        heading="{the_request} was received and is with our billing review team{under_ticket}.",
        body="A person looks at it. You don't need to do anything, and asking again won't create a second refund.",
        next=UPDATE,
        requires=stands("REQUIRES_HUMAN_APPROVAL", "MANUAL_REVIEW"),
    ),
    *EXPLANATIONS,
    Entry(
        key="NO_DUPLICATE",
        stage=Stage.DECISION,
        heading="We found no duplicate charge for {order}.",
        body="We compared the payments of the order, and no refund is due.",
        next=_ASK_AGAIN,
        requires=lambda facts: (
            facts.workflow_state == "NO_REFUND_DUE" and facts.finding == Finding.NO_DUPLICATE_FOUND
        ),
        closed=True,
    ),
    Entry(
        key="NO_REFUND_DUE",
        stage=Stage.DECISION,
        heading="No refund is due for {order}.",
        body="We checked your request and closed it.",
        next=_ASK_AGAIN,
        requires=stands("NO_REFUND_DUE"),
        closed=True,
    ),
    Entry(
        key="NOT_APPROVED",
        stage=Stage.DECISION,
        heading="We did not approve this refund.",
        body="Our billing team looked at your request for {order} and decided against it.",
        next="If you think this is wrong, ask us again here.",
        requires=stands("REJECTED"),
        closed=True,
    ),
    *WITHDRAWN,
    ORDER_NUMBER_NEEDED,
    Entry(
        key="RECORDS_UNREADABLE",
        stage=Stage.CHECKING,
        heading="Your request is saved.",
        body="We couldn't read your payment records just now, and check again automatically. Nothing was refunded.",
        next=_CLOSE_THE_PAGE,
        requires=lambda facts: (
            facts.workflow_state == "EVIDENCE_PENDING"
            and facts.case_kind == "VERIFICATION"
            and nothing_was_sent(facts)
        ),
    ),
    Entry(
        key="REQUEST_RECEIVED",
        stage=Stage.CHECKING,
        heading="We've received your request.",
        body="We're checking your order and payment records. Nothing has been refunded yet.",
        next=_CLOSE_THE_PAGE,
        requires=stands_unsent("EVIDENCE_PENDING"),
    ),
    Entry(
        key="BEING_DECIDED",
        stage=Stage.DECISION,
        heading="We've compared the payments for {order}.",
        body="We're deciding about your request. Nothing has been refunded yet.",
        next=_CLOSE_THE_PAGE,
        requires=stands_unsent(
            "EVIDENCE_VERIFIED", "ACTION_PROPOSED", "PROPOSAL_VALIDATED", "PROPOSAL_REJECTED"
        ),
    ),
    Entry(
        key="REQUEST_ON_FILE",
        stage=Stage.RECEIVED,
        heading="We have your request for {order}.",
        body="We're checking where it stands. Asking again won't create a second refund.",
        next=_CLOSE_THE_PAGE,
        requires=lambda _facts: True,
    ),
)
