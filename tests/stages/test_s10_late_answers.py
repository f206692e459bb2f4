"""Answers of stage 10 that arrive when something else has moved the operation, or that do not come alone."""

from datetime import timedelta

import pytest
from django.db import IntegrityError

from refunds.gateways.port import AnswerClass
from refunds.models import GatewayResponse
from refunds.stages.s10_submit_refund import record_answer
from refunds.states import OperationState
from tests.factories import NOW, add_attempt, latest_approval, operation_in_state
from tests.stages.gateways import answered, booked
from tests.stages.trail import both, nothing_written, path

pytestmark = pytest.mark.django_db
_A, _O = AnswerClass, OperationState


def late(operation, answer, attempt=None):
    attempt = attempt or operation.attempts.get()
    record_answer(found=operation, attempt_id=attempt.pk, answer=answer, now=NOW + timedelta(hours=1))


@pytest.mark.parametrize("state", [_O.STATUS_UNKNOWN, _O.MANUAL_REVIEW, _O.CONFIRMED_ABSENT])
def test_a_late_object_of_ours_completes_an_operation_in_doubt(state):
    operation = operation_in_state(state)
    late(operation, answered(_A.ACCEPTED, refund=booked(operation)))
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == ("COMPLETED", "COMPLETED")
    assert stored.processor_reference == "re_1"


@pytest.mark.parametrize("answer_class", [_A.REFUSED, _A.NOT_EXECUTED, _A.UNKNOWN])
def test_a_late_answer_without_an_object_is_recorded_and_moves_nothing(answer_class):
    operation = operation_in_state(_O.STATUS_UNKNOWN)
    before = path(operation)
    late(operation, answered(answer_class))
    assert path(operation) == before
    assert GatewayResponse.objects.get().answer_class == answer_class


@pytest.mark.parametrize("answer_class", [_A.ACCEPTED, _A.PENDING])
def test_an_answer_that_tells_nothing_new_is_recorded_and_moves_nothing(answer_class):
    operation = operation_in_state(_O.COMPLETED)
    before = path(operation), path(operation.workflow)
    known = booked(operation, processor_reference=operation.processor_reference)
    late(operation, answered(answer_class, refund=known), add_attempt(operation))
    assert (path(operation), path(operation.workflow)) == before
    assert operation.attempts.get(number=2).response.answer_class == answer_class


def test_an_answer_that_names_a_second_refund_is_for_people():
    operation = operation_in_state(_O.COMPLETED)
    known = operation.processor_reference
    second = answered(_A.ACCEPTED, refund=booked(operation, processor_reference="re_second"))
    late(operation, second, add_attempt(operation))
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert stored.processor_reference == known


def test_a_refusal_does_not_count_while_an_earlier_attempt_may_have_executed():
    operation = operation_in_state(_O.SUBMITTED)
    late(operation, answered(_A.REFUSED), add_attempt(operation))
    assert path(operation)[-1] == "STATUS_UNKNOWN"


@pytest.mark.parametrize("state", [_O.REJECTED, _O.CANCELLED])
def test_an_object_of_ours_after_the_end_is_for_people_and_voids_the_approval(state):
    operation = operation_in_state(state)
    late(operation, answered(_A.ACCEPTED, refund=booked(operation)), add_attempt(operation))
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert stored.processor_reference == "re_1"
    assert path(latest_approval(workflow))[-1] == "VOIDED"


def test_one_attempt_has_one_answer():
    operation = operation_in_state(_O.STATUS_UNKNOWN)
    late(operation, answered(_A.UNKNOWN))
    with nothing_written(), pytest.raises(IntegrityError):
        late(operation, answered(_A.ACCEPTED, refund=booked(operation)))
