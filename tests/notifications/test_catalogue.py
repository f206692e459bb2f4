import re
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings

from ledger.findings import Finding, ReasonCode
from notifications.catalogue import CATALOGUE, statement_for
from notifications.entry import Stage
from notifications.facts import Receipt, StatedEntry, StatedFacts
from refunds.states import OperationState, WorkflowState
from tests.notifications.facts_strategies import AT, FACTS, confirmed, stated

# Many examples, and no clock: a busy machine is no defect of the catalogue.
EXAMPLES = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NEGATIONS = re.compile(
    r"nothing (has been|was) refunded|nothing that could be refunded|isn't confirmed|when it is confirmed"
    r"|no longer confirmed|recorded it as confirmed|can't confirm",
    re.IGNORECASE,
)
CLAIMS = re.compile(r"\brefunded\b|was processed|\bconfirmed\b", re.IGNORECASE)
PROMISES = re.compile(
    r"\bsoon\b|shortly|should|usually|within \d|\b\d+ (business )?(days|hours|minutes)\b", re.IGNORECASE
)


def text_of(statement):
    return f"{statement.heading} {statement.body} {statement.next}"


def claims_refund(text):
    return CLAIMS.search(NEGATIONS.sub("", text)) is not None


@EXAMPLES
@given(FACTS)
def test_a_refund_is_claimed_only_with_completed_and_a_reference(facts):
    text = text_of(statement_for(facts))
    if claims_refund(text):
        assert facts.workflow_state == facts.operation_state == "COMPLETED"
        assert facts.processor_reference
        assert facts.amount_minor_units is not None


@EXAMPLES
@given(FACTS)
def test_a_lost_answer_is_being_verified_and_nothing_else(facts):
    text = text_of(statement_for(facts)).lower()
    if facts.operation_state == "STATUS_UNKNOWN":
        assert "verifying its status" in text
        assert not re.search(r"failed|did not go through|sent|delayed|approved", text)
    assert "sent again" not in text


@EXAMPLES
@given(FACTS)
def test_every_statement_is_complete_and_promises_no_time(facts):
    statement = statement_for(facts)
    for text in (statement.heading, statement.body, statement.next):
        assert text.strip() == text != ""
        assert "None" not in text
        assert "  " not in text
    assert "{" not in text_of(statement).replace("A-{x}", "")
    assert not PROMISES.search(text_of(statement))


@EXAMPLES
@given(FACTS)
def test_nothing_refunded_is_said_only_when_nothing_was_sent(facts):
    if re.search(r"nothing (has been|was) refunded", text_of(statement_for(facts)), re.IGNORECASE):
        assert facts.operation_state in {None, "CREATED", "CANCELLED", "CONFIRMED_ABSENT"}
        assert not facts.other_operation_stands


@EXAMPLES
@given(FACTS)
def test_a_refusal_is_the_processors_only_if_it_answered(facts):
    text = text_of(statement_for(facts))
    if re.search(r"did not accept|refused", text):
        assert facts.provider_answered
    if re.search(r"could not send|nothing was sent", text, re.IGNORECASE):
        assert facts.refused_before_sending


@pytest.mark.parametrize(
    ("facts", "key", "heading"),
    [
        (
            {"provider_answered": True},
            "REFUND_NOT_ACCEPTED",
            "Our payment processor did not accept this refund.",
        ),
        ({"refused_before_sending": True}, "REFUND_NOT_SENT", "We could not send this refund."),
        ({}, "REFUND_NOT_MADE", "This refund could not be made through our payment processor."),
    ],
)
def test_a_refused_refund_says_who_refused_it_and_nothing_about_other_money(facts, key, heading):
    with_people = statement_for(stated("MANUAL_REVIEW", "REJECTED", ticket=8920, **facts))
    closed = statement_for(stated("REJECTED", "REJECTED", **facts))
    assert (with_people.key, with_people.heading, with_people.closed) == (key, heading, False)
    assert with_people.body.endswith("Our billing team is looking at order #2841 under ticket #8920.")
    assert (closed.key, closed.heading, closed.closed) == (f"{key}_CLOSED", heading, True)
    assert "No money" not in text_of(with_people) + text_of(closed)


def test_a_released_hold_is_no_reversed_charge_and_names_no_returned_amount():
    release = StatedEntry(
        kind="REVERSAL",
        status="SUCCEEDED",
        processor_reference="re_hold",
        amount_minor_units=6600,
        currency="USD",
        occurred_at=AT,
    )
    statement = statement_for(
        stated(
            "NO_REFUND_DUE",
            finding=Finding.NO_DUPLICATE_FOUND,
            reason_code=ReasonCode.HOLD_RELEASED,
            entries=(release,),
        )
    )
    assert statement.heading == (
        "We found one completed charge for order #2841 and a hold that was released."
    )
    assert statement.body == "A hold is not a charge, so there is nothing on it to refund."


def test_every_pair_of_states_has_a_statement_and_states_are_spelt_right():
    pairs = list(product(WorkflowState, [None, *OperationState]))
    keys = {pair: statement_for(stated(*pair)).key for pair in pairs}
    assert len(keys) == 13 * 11
    expected = {
        ("EVIDENCE_PENDING", None): "REQUEST_RECEIVED",
        ("EVIDENCE_PENDING", "CANCELLED"): "REQUEST_RECEIVED",
        ("EVIDENCE_VERIFIED", None): "BEING_DECIDED",
        ("PROPOSAL_REJECTED", None): "BEING_DECIDED",
        ("REQUIRES_HUMAN_APPROVAL", None): "WITH_REVIEW_TEAM",
        ("REQUIRES_HUMAN_APPROVAL", "REJECTED"): "WITH_REVIEW_TEAM",
        ("APPROVED", None): "REQUEST_ON_FILE",  # without an amount there is nothing to name
        ("EXECUTING", "CREATED"): "REFUND_NOT_SENT_YET",
        ("EXECUTING", "SUBMITTED"): "REFUND_BEING_SENT",
        ("EXECUTING", "PROVIDER_PENDING"): "REFUND_PENDING_AT_PROCESSOR",
        ("EXECUTING", "STATUS_UNKNOWN"): "REFUND_BEING_VERIFIED",
        ("EXECUTING", "CONFIRMED_ABSENT"): "REFUND_ATTEMPT_ABSENT",
        ("EXECUTING", None): "REQUEST_ON_FILE",
        ("MANUAL_REVIEW", None): "WITH_REVIEW_TEAM",
        ("MANUAL_REVIEW", "MANUAL_REVIEW"): "REFUND_WITH_FINANCE",
        ("MANUAL_REVIEW", "STATUS_UNKNOWN"): "REFUND_BEING_VERIFIED",
        ("MANUAL_REVIEW", "SUBMITTED"): "REFUND_UNDER_REVIEW",
        ("MANUAL_REVIEW", "COMPLETED"): "REFUND_UNDER_REVIEW",
        ("MANUAL_REVIEW", "REJECTED"): "REFUND_NOT_MADE",
        ("MANUAL_REVIEW", "FAILED"): "REFUND_DID_NOT_GO_THROUGH",
        ("MANUAL_REVIEW", "CANCELLED"): "WITH_REVIEW_TEAM",
        ("COMPLETED", None): "REQUEST_ON_FILE",
        ("COMPLETED", "COMPLETED"): "REQUEST_ON_FILE",  # without a reference nothing is claimed
        ("NO_REFUND_DUE", None): "NO_REFUND_DUE",
        ("REJECTED", None): "NOT_APPROVED",
        ("REJECTED", "REJECTED"): "REFUND_NOT_MADE_CLOSED",
        ("WITHDRAWN", None): "WITHDRAWN",
        ("WITHDRAWN", "CANCELLED"): "WITHDRAWN",
    }
    assert {pair: keys[pair] for pair in expected} == expected


SECOND = StatedEntry(
    kind="REFUND",
    status="SUCCEEDED",
    processor_reference="re_2",
    amount_minor_units=1200,
    currency="USD",
    occurred_at=AT,
)


def test_two_refunds_of_one_request_are_both_told_each_with_its_amount_and_reference():
    told = statement_for(confirmed(other_refunds=(SECOND,), other_operation_stands=True))
    assert (told.key, told.heading) == (
        "REFUNDS_CONFIRMED",
        "More than one refund was made for order #2841.",
    )
    assert "$49.99 (reference re_1) and $12.00 (reference re_2)" in told.body
    unnamed = statement_for(confirmed(other_refunds=(replace(SECOND, currency="??"),)))
    assert unnamed.key == "REFUND_CONFIRMED"
    assert StatedFacts.from_json(confirmed(other_refunds=(SECOND,)).to_json()).other_refunds == (SECOND,)


@EXAMPLES
@given(FACTS)
def test_every_other_refund_that_is_told_of_is_named(facts):
    statement = statement_for(facts)
    if statement.key == "REFUNDS_CONFIRMED":
        assert facts.workflow_state == facts.operation_state == "COMPLETED"
        assert statement.body.count("(reference re_ledger)") == len(facts.other_refunds) > 0


def test_every_entry_can_be_said():
    said = {
        statement_for(stated(workflow, operation, **more)).key
        for workflow, operation in product(WorkflowState, [None, *OperationState])
        for more in (
            {},
            {"amount_minor_units": 4999, "currency": "USD"},
            {"amount_minor_units": 4999, "currency": "USD", "finding": Finding.VERIFIED_DUPLICATE_CHARGE},
            {"case_kind": "VERIFICATION"},
            {"completed_at": AT},
            {"provider_answered": True},
            {"refused_before_sending": True},
            {"reason_code": ReasonCode.DISPUTE_OPEN},
            {"finding": Finding.NO_DUPLICATE_FOUND},
            {"order_number": ""},
            {"origin": "STAFF"},
            {"state_reason": "WITHDRAWN_BY_CUSTOMER"},
            {"state_reason": "NOT_ANSWERED"},
            {"state_reason": "ATTACHED", "attached_to": "RF-0000-0000"},
            {"state_reason": "CUSTOMER_ASKED_PERSON"},
            {"state_reason": "REFUNDED_ELSEWHERE"},
        )
    }
    said |= {statement_for(confirmed(receipt=receipt)).key for receipt in Receipt}
    said.add(statement_for(confirmed(other_refunds=(SECOND,))).key)
    for reason in ReasonCode:
        for numbers in ((), ("2850",)):
            facts = stated(
                "NO_REFUND_DUE",
                finding=Finding.NO_DUPLICATE_FOUND,
                reason_code=reason,
                other_order_numbers=numbers,
            )
            said.add(statement_for(facts).key)
    assert said == {entry.key for entry in CATALOGUE}
    assert len(CATALOGUE) == len(said)


def test_each_harmless_reason_is_explained_in_words_of_its_own():
    reasons = [reason for reason in ReasonCode if not reason.needs_investigation]
    reasons.remove(ReasonCode.TWO_CAPTURES_OF_ONE_PURCHASE)
    keys = {
        statement_for(stated("NO_REFUND_DUE", finding=Finding.NO_DUPLICATE_FOUND, reason_code=reason)).key
        for reason in reasons
    }
    assert len(keys) == len(reasons) == 11
    assert "NO_DUPLICATE" not in keys


def test_a_confirmed_refund_names_amount_order_card_time_and_reference():
    statement = statement_for(confirmed(receipt=Receipt.QUEUED))
    assert statement.heading == "Your refund of $49.99 for order #2841 was processed."
    assert statement.body == (
        "Our payment processor confirmed it on 28 Nov 2026, 10:41 UTC, to the card ending 4242. "
        "Transaction reference: re_1."
    )
    assert (statement.stage, statement.closed) == (Stage.REFUND, True)


@pytest.mark.parametrize(
    ("receipt", "words"),
    [(Receipt.DELAYED, "The receipt e-mail is delayed"), (Receipt.FAILED, "could not be delivered")],
)
def test_a_receipt_in_trouble_leaves_the_refund_confirmed_with_its_reference(receipt, words):
    statement = statement_for(confirmed(receipt=receipt))
    assert statement.heading == "Your refund of $49.99 for order #2841 has been confirmed."
    assert words in statement.body
    assert "re_1" in statement.body


@pytest.mark.failure("F022")
@pytest.mark.parametrize(
    ("operation", "key"),
    [
        ("FAILED", "REFUND_RETURNED"),
        ("MANUAL_REVIEW", "REFUND_NO_LONGER_CONFIRMED"),
        ("PROVIDER_PENDING", "REFUND_NO_LONGER_CONFIRMED"),
    ],
)
def test_a_refund_that_changes_after_it_was_confirmed_says_so(operation, key):
    statement = statement_for(
        confirmed(workflow_state="MANUAL_REVIEW", operation_state=operation, ticket=8920)
    )
    assert statement.key == key
    assert "We recorded it as confirmed on 28 Nov 2026, 10:41 UTC." in statement.body
    assert "ticket #8920" in statement.body


def test_money_already_returned_is_told_from_ledger_rows():
    refund = StatedEntry(
        kind="REFUND",
        status="SUCCEEDED",
        processor_reference="re_old",
        amount_minor_units=4999,
        currency="USD",
        occurred_at=AT,
    )
    facts = stated(
        "NO_REFUND_DUE",
        finding=Finding.NO_DUPLICATE_FOUND,
        reason_code=ReasonCode.ALREADY_REFUNDED,
        entries=(refund,),
    )
    statement = statement_for(facts)
    assert statement.heading == "A charge for order #2841 was already returned."
    assert statement.body == (
        "Our payment records show that this was done before. They show $49.99 on 28 Nov 2026, 10:41 UTC, "
        "reference re_old."
    )


def test_two_orders_are_named():
    facts = stated(
        "NO_REFUND_DUE",
        finding=Finding.NO_DUPLICATE_FOUND,
        reason_code=ReasonCode.TWO_ORDERS,
        other_order_numbers=("2850", "2851"),
    )
    assert statement_for(facts).heading == (
        "The charges belong to different orders of yours: order #2841 and order #2850 and order #2851."
    )


def test_a_waiting_request_names_its_ticket():
    statement = statement_for(stated("REQUIRES_HUMAN_APPROVAL", ticket=8920, case_kind="APPROVAL"))
    assert statement.heading == (
        "Your request for order #2841 was received and is with our billing review team under ticket #8920."
    )
    assert not statement.closed


@EXAMPLES
@given(FACTS)
def test_what_a_customer_did_is_said_only_if_the_event_says_so(facts):
    text = text_of(statement_for(facts))
    for words, state, reason in (
        ("You withdrew", "WITHDRAWN", "WITHDRAWN_BY_CUSTOMER"),
        ("we got no order number", "WITHDRAWN", "NOT_ANSWERED"),
        ("You already had a request", "WITHDRAWN", "ATTACHED"),
        ("You asked for a person", "MANUAL_REVIEW", "CUSTOMER_ASKED_PERSON"),
    ):
        if words in text:
            assert (facts.workflow_state, facts.state_reason) == (state, reason)
    if "the order number" in text:
        assert (facts.workflow_state, facts.order_number) == ("EVIDENCE_PENDING", "")


@EXAMPLES
@given(FACTS)
def test_what_staff_started_is_never_called_the_customers_wish_while_it_is_open(facts):
    statement = statement_for(facts)
    if facts.origin == "STAFF" and statement.key != "REQUEST_ON_FILE":
        assert not re.search(r"your request (for|was)|received your", text_of(statement), re.IGNORECASE)
    if re.search(r"two completed charges", statement.heading):
        assert facts.finding == Finding.VERIFIED_DUPLICATE_CHARGE


def test_a_staff_refund_is_approved_and_no_duplicate_is_claimed():
    statement = statement_for(
        stated(
            "APPROVED",
            origin="STAFF",
            finding=Finding.STAFF_REQUESTED,
            amount_minor_units=1500,
            currency="USD",
        )
    )
    assert statement.heading == "A refund of $15.00 for order #2841 is approved."
    assert "charges" not in text_of(statement)


def test_a_request_without_an_order_says_what_it_needs_and_until_when():
    statement = statement_for(stated("EVIDENCE_PENDING", order_number="", answer_by=AT))
    assert statement.heading == "We need one thing from you: the order number."
    assert statement.next == (
        "Choose the order, or type its number. If we don't have it by 28 Nov 2026, 10:41 UTC, we close this request."
    )
    assert not statement.closed


def test_a_withdrawn_request_says_by_whom_and_when():
    statement = statement_for(stated("WITHDRAWN", state_reason="WITHDRAWN_BY_CUSTOMER", state_since=AT))
    assert statement.heading == "You withdrew this request on 28 Nov 2026, 10:41 UTC."
    assert statement.body == "Nothing was refunded for it."
    assert statement.closed
