"""The state tables and the coupling, as the design states them, without a database."""

import itertools

import pytest

from approvals.states import APPROVAL_TABLE
from policies.states import DOCUMENT_TABLE
from refunds.states import (
    OPERATION_TABLE,
    WORKFLOW_TABLE,
    OperationState,
    WorkflowState,
    coupled_workflow_state,
)

_W, _O = WorkflowState, OperationState


def couple(workflow, operation, **facts):
    facts.setdefault("left", _O.SUBMITTED)
    return coupled_workflow_state(workflow, operation, **facts)


def test_every_state_has_a_row_of_its_own():
    assert set(WORKFLOW_TABLE.states) == set(_W)
    assert set(OPERATION_TABLE.states) == set(_O)
    assert len(APPROVAL_TABLE.pairs) == 7
    assert len(DOCUMENT_TABLE.pairs) == 3
    assert len(WORKFLOW_TABLE.pairs) == 40
    assert len(OPERATION_TABLE.pairs) == 36


def test_no_table_allows_a_state_to_follow_itself():
    for table in (WORKFLOW_TABLE, OPERATION_TABLE, APPROVAL_TABLE, DOCUMENT_TABLE):
        assert all(not table.allows(state, state) for state in table.states)


def test_the_coupling_is_total_and_always_a_legal_jump_or_none():
    facts = itertools.product(_W, _O, _O, (False, True), (False, True))
    for workflow, operation, left, sibling, closes in facts:
        target = coupled_workflow_state(
            workflow, operation, left=left, sibling_stands=sibling, policy_closes_on_rejection=closes
        )
        assert target is workflow or WORKFLOW_TABLE.allows(workflow, target), (workflow, operation, left)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (_O.COMPLETED, _W.COMPLETED),
        (_O.PROVIDER_PENDING, _W.EXECUTING),
        (_O.STATUS_UNKNOWN, _W.EXECUTING),
        (_O.CONFIRMED_ABSENT, _W.EXECUTING),
        (_O.CREATED, _W.EXECUTING),
        (_O.SUBMITTED, _W.EXECUTING),
        (_O.REJECTED, _W.MANUAL_REVIEW),
        (_O.FAILED, _W.MANUAL_REVIEW),
        (_O.MANUAL_REVIEW, _W.MANUAL_REVIEW),
        (_O.CANCELLED, _W.EVIDENCE_PENDING),
    ],
)
def test_an_executing_workflow_follows_its_operation(operation, expected):
    assert couple(_W.EXECUTING, operation) is expected


def test_a_rejection_closes_the_workflow_only_where_the_policy_says_so():
    assert couple(_W.EXECUTING, _O.REJECTED, policy_closes_on_rejection=True) is _W.REJECTED
    assert couple(_W.MANUAL_REVIEW, _O.REJECTED, policy_closes_on_rejection=True) is _W.MANUAL_REVIEW


def test_a_second_standing_operation_is_never_called_complete():
    assert couple(_W.EXECUTING, _O.COMPLETED, sibling_stands=True) is _W.MANUAL_REVIEW
    assert couple(_W.MANUAL_REVIEW, _O.COMPLETED, sibling_stands=True) is _W.MANUAL_REVIEW


@pytest.mark.failure("F022")
@pytest.mark.parametrize("operation", [_O.FAILED, _O.PROVIDER_PENDING, _O.MANUAL_REVIEW])
def test_money_that_came_back_brings_people_in(operation):
    assert couple(_W.COMPLETED, operation, left=_O.COMPLETED) is _W.MANUAL_REVIEW


@pytest.mark.parametrize("operation", [_O.CONFIRMED_ABSENT, _O.PROVIDER_PENDING])
def test_an_operation_that_lives_again_takes_its_workflow_back(operation):
    assert couple(_W.MANUAL_REVIEW, operation, left=_O.MANUAL_REVIEW) is _W.EXECUTING


@pytest.mark.parametrize("workflow", [state for state in _W if state is not _W.MANUAL_REVIEW])
@pytest.mark.parametrize("left", [_O.REJECTED, _O.FAILED, _O.CANCELLED])
def test_a_contradicted_end_brings_people_in_from_every_state(workflow, left):
    assert couple(workflow, _O.MANUAL_REVIEW, left=left) is _W.MANUAL_REVIEW
