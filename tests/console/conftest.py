from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model

from approvals.models import ReviewCase
from ledger.clock import now_utc
from refunds.models import ReconciliationCheck
from refunds.states import CheckVerdict, OperationState, WorkflowState
from tests.factories import (
    make_duplicate_order,
    make_merchant,
    make_policy,
    make_staff,
    operation_in_state,
    workflow_in_state,
)


@pytest.fixture
def merchant(db):
    merchant = make_merchant(name="Northwind")
    make_policy(merchant=merchant)
    return merchant


@pytest.fixture
def reviewer(merchant):
    return make_staff(merchant=merchant)


@pytest.fixture
def waiting(merchant):
    """A request of $149.00 that waits for one person's approval."""
    return waiting_request(merchant)


@pytest.fixture
def as_reviewer(client, reviewer):
    client.force_login(reviewer)
    return client


@pytest.fixture
def operation_nudges(monkeypatch):
    """The nudges that the pages of an operation send on; the broker is not part of these tests."""
    nudges = []
    monkeypatch.setattr("refunds.console.operation_work.send_nudges", nudges.extend)
    return nudges


@pytest.fixture
def operation(merchant):
    """An operation of yesterday that nothing proves; the provider was asked just now, and shows nothing."""
    now = now_utc()
    order = make_duplicate_order(customer__merchant=merchant, now=now - timedelta(days=1)).order
    made = operation_in_state(OperationState.MANUAL_REVIEW, order=order, now=now - timedelta(days=1))
    look(made)
    return made


def look(operation, *, verdict=CheckVerdict.NOT_FOUND_YET, complete=True, at=None):
    ReconciliationCheck.objects.create(
        operation=operation, number=operation.checks.count() + 1, cause="PERSON", verdict=verdict,
        sources=[{"surface": "refunds.list", "complete": complete, "refunds": []}],
        explanation=["not listed"], at=at or now_utc(),
    )  # fmt: skip


def waiting_request(merchant, *, amount_minor_units=14_900, approvals_needed=1, **columns):
    double = make_duplicate_order(
        amount_minor_units=amount_minor_units, customer__merchant=merchant, **columns
    )
    return workflow_in_state(
        WorkflowState.REQUIRES_HUMAN_APPROVAL,
        order=double.order,
        reason="APPROVAL_THRESHOLD",
        approvals_needed=approvals_needed,
    )


def ticket_of(workflow):
    return ReviewCase.objects.filter(subject_id=workflow.pk).latest("ticket").ticket


def superuser(**columns):
    return get_user_model().objects.create_superuser("root", "root@example.com", "correct horse", **columns)
