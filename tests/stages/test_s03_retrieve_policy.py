from datetime import timedelta

import pytest

from approvals.models import ReviewCase
from policies.rules import parse_rules
from refunds import pipeline
from refunds.evidence.policy import ApplicablePolicy, PolicyUnusable
from refunds.models import RefundWorkflow
from refunds.nudges import DELIVER
from refunds.stages.s03_retrieve_policy import retrieve_policy
from tests.factories import (
    NOW,
    POLICY_RULES,
    make_duplicate_order,
    make_merchant,
    make_order,
    make_payment,
    make_policy,
    open_workflow,
)
from tests.stages.trail import last_move, path

pytestmark = pytest.mark.django_db


@pytest.fixture
def workflow():
    """A request about a doubly charged order of goods, paid by card, at a merchant in the US."""
    return open_workflow(order=make_duplicate_order().order, next_attempt_at=NOW)


def policy(workflow, **columns):
    return make_policy(merchant=workflow.merchant, **columns)


def test_the_one_version_in_force_comes_with_typed_rules(workflow):
    version = policy(workflow, version=7)
    make_policy(merchant=make_merchant())
    found = retrieve_policy(workflow=workflow, at=NOW)
    assert found == ApplicablePolicy(
        version_id=version.pk,
        label="REF-DUP v7",
        rules=parse_rules(POLICY_RULES),
        effective_from=version.effective_from,
        effective_to=None,
    )


@pytest.mark.parametrize(
    ("columns", "applies"),
    [
        ({"region": "US", "product_type": "GOODS", "payment_method": "card"}, True),
        ({"region": "EU"}, False),
        ({"product_type": "SERVICE"}, False),
        ({"payment_method": "sepa_debit"}, False),
        ({"reason": "LATE_DELIVERY"}, False),
    ],
)
def test_attributes_of_rows_select_it(workflow, columns, applies):
    policy(workflow, **columns)
    assert isinstance(retrieve_policy(workflow=workflow, at=NOW), ApplicablePolicy) is applies


def test_an_order_paid_in_two_ways_has_no_method_to_select_by(workflow):
    for method in ("card", "sepa_debit"):
        policy(workflow, payment_method=method)
    make_payment(order=workflow.order, method_type="sepa_debit")
    assert retrieve_policy(workflow=workflow, at=NOW) == PolicyUnusable("POLICY_MISSING", ())


def test_an_order_without_payments_has_no_method_to_select_by():
    unpaid = open_workflow(order=make_order(), next_attempt_at=NOW)
    version = policy(unpaid)
    policy(unpaid, payment_method="card")
    assert retrieve_policy(workflow=unpaid, at=NOW).version_id == version.pk


@pytest.mark.parametrize(("seconds", "number"), [(-1, 1), (0, 2), (1, 2)])
def test_the_second_of_the_change_belongs_to_the_new_version(workflow, seconds, number):
    policy(workflow, version=1, effective_to=NOW)
    policy(workflow, version=2, effective_from=NOW)
    found = retrieve_policy(workflow=workflow, at=NOW + timedelta(seconds=seconds))
    assert found.label == f"REF-DUP v{number}"


def gap(workflow):
    policy(workflow, effective_to=NOW - timedelta(days=1))
    policy(workflow, effective_from=NOW + timedelta(days=1))
    return []


def overlap(workflow):
    return [policy(workflow).pk, policy(workflow, region="US").pk]


def unreadable(workflow):
    return [policy(workflow, rules={"max_age_days": "ninety"}).pk]


@pytest.mark.failure("F117")
@pytest.mark.parametrize(
    ("arrange", "code"),
    [(gap, "POLICY_MISSING"), (overlap, "POLICY_OVERLAP"), (unreadable, "POLICY_UNREADABLE")],
)
def test_none_or_several_or_an_unreadable_one_is_for_people_and_never_a_default(workflow, arrange, code):
    candidates = arrange(workflow)
    assert retrieve_policy(workflow=workflow, at=NOW) == PolicyUnusable(code, tuple(candidates))

    assert pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW) == (DELIVER,)

    assert path(workflow) == ["EVIDENCE_PENDING", "MANUAL_REVIEW"]
    event = last_move(workflow)
    assert (event.stage, event.reason, event.actor_id) == ("RETRIEVE_POLICY", code, "stage:RETRIEVE_POLICY")
    assert event.evidence == {"candidates": candidates}
    stored = RefundWorkflow.objects.get(pk=workflow.pk)
    assert (stored.policy_id, stored.finding, stored.next_attempt_at) == (None, "", None)
    assert stored.person_required
    case = ReviewCase.objects.get(subject_id=workflow.pk)
    assert (case.kind, case.reason, case.closed_at) == ("INVESTIGATION", code, None)
