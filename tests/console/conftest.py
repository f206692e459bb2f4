import pytest
from django.contrib.auth import get_user_model

from approvals.models import ReviewCase
from refunds.states import WorkflowState
from tests.factories import make_duplicate_order, make_merchant, make_policy, make_staff, workflow_in_state


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
