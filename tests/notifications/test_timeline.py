from itertools import product

from notifications.timeline import Subject, line_for
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
