from itertools import product

import pytest

from notifications.timeline import RECORDS, Subject, line_for
from refunds.selectors.requests import TOLD_RECORDS
from refunds.states import OPERATION_TABLE, WORKFLOW_TABLE, OperationState, WorkflowState

UNTOLD = {
    Subject.REQUEST: {"ACTION_PROPOSED", "PROPOSAL_VALIDATED", "PROPOSAL_REJECTED", "EXECUTING", "COMPLETED"},
    Subject.REFUND: set(),
}


def test_every_legal_jump_is_told_or_is_left_to_another_line():
    for subject, table, states in (
        (Subject.REQUEST, WORKFLOW_TABLE, WorkflowState),
        (Subject.REFUND, OPERATION_TABLE, OperationState),
    ):
        for before, after in product(states, states):
            if table.allows(before, after):
                told = line_for(subject, from_state=before, to_state=after) is not None
                assert told is (after not in UNTOLD[subject]), (subject, before, after)


def test_a_request_begins_with_being_saved_and_an_operation_begins_silently():
    assert line_for(Subject.REQUEST, from_state="", to_state="EVIDENCE_PENDING").key == "REQUEST_SAVED"
    assert line_for(Subject.REFUND, from_state="", to_state="CREATED") is None


def test_a_lost_answer_is_told_as_verifying():
    line = line_for(Subject.REFUND, from_state="SUBMITTED", to_state="STATUS_UNKNOWN")
    assert line.text == "We did not get a final answer, so we began verifying the refund's status."


def test_what_was_never_sent_is_told_as_not_sent():
    assert line_for(Subject.REFUND, from_state="CREATED", to_state="SUBMITTED", unsent=True) is None
    line = line_for(Subject.REFUND, from_state="SUBMITTED", to_state="REJECTED", unsent=True)
    assert (line.key, line.text) == ("NOT_SENT", "We could not send the refund. Nothing was sent.")


@pytest.mark.parametrize(
    ("to_state", "reason", "words"),
    [
        ("WITHDRAWN", "WITHDRAWN_BY_CUSTOMER", "You withdrew the request."),
        ("WITHDRAWN", "NOT_ANSWERED", "We closed the request: we got no order number."),
        (
            "WITHDRAWN",
            "ATTACHED",
            "We added what you wrote to a request that you already had for that order.",
        ),
        (
            "MANUAL_REVIEW",
            "CUSTOMER_ASKED_PERSON",
            "You asked for a person, and we passed your request to our billing team.",
        ),
        ("WITHDRAWN", "OTHER", "The request was withdrawn."),
    ],
)
def test_a_reason_is_told_where_it_says_more(to_state, reason, words):
    line = line_for(Subject.REQUEST, from_state="EVIDENCE_PENDING", to_state=to_state, reason=reason)
    assert line.text == words


def test_what_staff_started_is_not_told_as_the_customers_request():
    for before, after in product(["", *WorkflowState], WorkflowState):
        line = line_for(Subject.REQUEST, from_state=before, to_state=after, by_staff=True)
        assert line is None or "your request" not in line.text
    first = line_for(Subject.REQUEST, from_state="", to_state="EVIDENCE_PENDING", by_staff=True)
    assert first.text == "Our billing team started a refund."


def test_every_told_record_has_a_line():
    assert set(RECORDS) == set(TOLD_RECORDS)
