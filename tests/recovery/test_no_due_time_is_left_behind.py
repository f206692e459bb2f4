"""A row that nobody may submit any more is not due for a submission: a due time left behind is a scanner's for ever."""

from datetime import timedelta

import pytest

from refunds.models import RefundOperation
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import EXECUTABLE_OPERATION_STATES, OPERATION_TABLE, OperationState
from tests.factories import NOW, operation_in_state
from tests.factories.commands import WHY

pytestmark = pytest.mark.django_db

LEAVING = [
    pytest.param(source, target, id=f"{source}-{target}")
    for source in EXECUTABLE_OPERATION_STATES
    for target in OPERATION_TABLE.states
    if OPERATION_TABLE.allows(source, target) and target not in EXECUTABLE_OPERATION_STATES
]


@pytest.mark.parametrize(("source", "target"), LEAVING)
def test_what_leaves_the_executable_states_is_not_due(source, target):
    operation = operation_in_state(source)
    RefundOperation.objects.filter(pk=operation.pk).update(next_attempt_at=NOW - timedelta(minutes=1))
    changes = {"processor_reference": "re_due"} if target is OperationState.COMPLETED else {}
    with evidence_transaction(
        workflow_id=operation.workflow_id,
        operation_id=operation.pk,
        payment_ids=[operation.payment_id],
        now=NOW,
    ) as evidence:
        evidence.move_operation(target, WHY, **changes)
    assert RefundOperation.objects.get(pk=operation.pk).next_attempt_at is None
