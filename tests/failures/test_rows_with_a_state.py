"""Rows with a state, as workers, pages and the admin use them."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.urls import reverse

from approvals.models import ApprovalRequest
from ledger.models.stateful import StatefulModel
from ledger.transitions import TransitionRefusedError, commit_transition, lock_row
from policies.models import KnowledgeDocument
from refunds.models import RefundOperation, RefundWorkflow
from refunds.states import OperationState, WorkflowState
from tests.factories import NOW, latest_approval, operation_in_state, workflow_in_state
from tests.factories.commands import WHY
from tests.factories.house_texts import make_house_text

MAKE = {
    RefundWorkflow: lambda: workflow_in_state(WorkflowState.MANUAL_REVIEW),
    RefundOperation: lambda: operation_in_state(OperationState.SUBMITTED),
    ApprovalRequest: lambda: latest_approval(workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL)),
    KnowledgeDocument: make_house_text,
}
NEXT = {
    RefundWorkflow: "EVIDENCE_PENDING",
    RefundOperation: "STATUS_UNKNOWN",
    ApprovalRequest: "VOIDED",
    KnowledgeDocument: "RETIRED",
}


def elsewhere(call):
    """Run a call on a connection of its own."""

    def run():
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        return other.submit(run).result()


def move(row):
    with transaction.atomic():
        locked = lock_row(type(row), row.pk)
        commit_transition(locked, NEXT[type(row)], WHY, now=NOW)
    return locked


@pytest.mark.failure("F073")
def test_every_model_with_a_state_stands_here():
    stateful = {model for model in apps.get_models() if issubclass(model, StatefulModel)}
    assert {model._meta.concrete_model for model in stateful} == set(MAKE)


@pytest.mark.django_db(transaction=True)
@pytest.mark.failure("F072")
@pytest.mark.failure("F073")
@pytest.mark.parametrize("model", MAKE)
def test_another_session_sees_state_and_event_and_the_row_can_be_refreshed_and_saved(model):
    row = MAKE[model]()
    moved = move(row)
    stored = elsewhere(lambda: model.objects.get(pk=row.pk))
    assert (stored.state, stored.state_sequence) == (NEXT[model], row.state_sequence + 1)
    assert elsewhere(lambda: stored.events.filter(kind="TRANSITION").latest("pk")).to_state == NEXT[model]

    for copy in (row, moved, stored):
        copy.refresh_from_db()
        assert copy.state == NEXT[model]
        copy.save()  # the guard against lost updates knows the state that was refreshed
    assert model.objects.get(pk=row.pk).state_sequence == stored.state_sequence


@pytest.mark.django_db(transaction=True)
@pytest.mark.failure("F073")
@pytest.mark.parametrize("model", MAKE)
def test_lock_then_refresh_then_move_works_as_in_a_worker(model):
    row = MAKE[model]()
    with transaction.atomic():
        locked = lock_row(model, row.pk)
        locked.refresh_from_db()
        commit_transition(locked, NEXT[model], WHY, now=NOW)
        locked.refresh_from_db()
    assert elsewhere(lambda: model.objects.get(pk=row.pk)).state == NEXT[model]


@pytest.mark.django_db(transaction=True)
@pytest.mark.failure("F071")
@pytest.mark.failure("F073")
@pytest.mark.parametrize("model", MAKE)
def test_a_copy_that_was_read_before_another_session_moved_the_row_moves_nothing(model):
    row = MAKE[model]()
    old = model.objects.get(pk=row.pk)
    events = old.events.count()
    elsewhere(lambda: move(row))
    with pytest.raises(Exception, match=r"lock|event|state|changed"), transaction.atomic():
        commit_transition(old, NEXT[model], WHY, now=NOW)
    with pytest.raises(TransitionRefusedError):
        move(row)
    assert row.events.count() == events + 1


@pytest.mark.django_db
@pytest.mark.failure("F073")
@pytest.mark.parametrize("model", MAKE)
def test_the_admins_pages_of_a_row_with_a_state_open(client, model):
    row = MAKE[model]()
    client.force_login(get_user_model().objects.create_superuser("root", "root@example.com"))
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    pages = [
        reverse(f"{name}_changelist"),
        *(reverse(f"{name}_{page}", args=[row.pk]) for page in ("change", "history")),
    ]
    assert [client.get(page).status_code for page in pages] == [200, 200, 200]
