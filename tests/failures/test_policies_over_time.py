"""Which policy version decides: new ones on the way, and those of other tenants."""

from datetime import timedelta

import pytest

from approvals.models import ApprovalRequest
from policies.models import PolicyVersion
from refunds import pipeline
from refunds.models import RefundOperation, RefundWorkflow, RuleResult
from refunds.nudges import advance, submit
from tests.factories import NOW, make_duplicate_order, make_merchant, make_policy, make_staff

rows = pytest.mark.django_db(transaction=True)


# -- F118: versions

ENDS = timedelta(minutes=5)  # after NOW, the version in force gives way to the next one


def asked_under_version_7(desk):
    """Return a request that waits for a person, decided so far by the version that ends soon."""
    merchant = make_merchant()
    make_policy(merchant=merchant, version=7, effective_to=NOW + ENDS)
    made = desk.duplicate(desk.customer(merchant), amount_minor_units=14_900)
    return merchant, desk.ask(made.order)


def publish(desk, merchant):
    """Store the version that follows; what is stored of an earlier one cannot change any more."""
    make_policy(
        merchant=merchant,
        version=8,
        effective_from=NOW + ENDS,
        rules={"auto_limit_minor_units": {"USD": 99_999}, "max_age_days": 30},
    )


def approve(desk, workflow_id, merchant):
    approval = ApprovalRequest.objects.filter(subject_id=workflow_id).latest("command_number")
    return pipeline.decide(
        approval_id=approval.pk,
        decision="approve",
        staff_user_id=make_staff(merchant=merchant).pk,
        fingerprint=approval.request_fingerprint,
        reason_code="DUPLICATE_CONFIRMED",
        note="",
        now=desk.now,
    )


def versions_of_each_command(workflow_id):
    """Return the versions that the rows of each command name; every one must name one alone."""
    found = {}
    for approval in ApprovalRequest.objects.filter(subject_id=workflow_id):
        number = approval.command_number
        named = {approval.policy_version}
        results = RuleResult.objects.filter(workflow_id=workflow_id, command_number=number)
        named |= set(results.values_list("policy_version", flat=True))
        operation = RefundOperation.objects.filter(approval_id=approval.pk).first()
        if operation is not None:
            version = PolicyVersion.objects.get(pk=operation.policy_id)
            named |= {operation.policy_version, version.label}
        found[number] = named
    return found


@rows
@pytest.mark.failure("F118")
@pytest.mark.parametrize("moment_of", ["approval", "operation", "submission", "answer"])
def test_a_version_that_is_published_on_the_way_changes_nothing_while_the_old_one_is_in_force(
    desk, moment_of
):
    merchant, workflow_id = asked_under_version_7(desk)
    steps = {
        "approval": lambda: approve(desk, workflow_id, merchant),
        "operation": lambda: desk.run_one(advance(workflow_id)),
        "submission": lambda: desk.run_one(submit(desk.operation(workflow_id).pk)),
        "answer": desk.scan,
    }
    desk.sim.arm(kind="drop_after", count=1)
    for name, step in steps.items():
        if name == moment_of:
            publish(desk, merchant)
        step()

    operation = desk.operation(workflow_id)
    assert (operation.state, len(desk.sim.refunds())) == ("COMPLETED", 1)
    assert versions_of_each_command(workflow_id) == {1: {"REF-DUP v7"}}
    assert set(operation.events.exclude(policy_version="").values_list("policy_version", flat=True)) == {
        "REF-DUP v7"
    }


@rows
@pytest.mark.failure("F118")
@pytest.mark.parametrize("moment_of", ["approval", "operation", "submission"])
def test_once_the_old_version_ended_the_evidence_is_read_anew_and_versions_never_mix(desk, moment_of):
    merchant, workflow_id = asked_under_version_7(desk)
    steps = {
        "approval": lambda: approve(desk, workflow_id, merchant),
        "operation": lambda: desk.run_one(advance(workflow_id)),
        "submission": lambda: desk.run_one(submit(desk.operation(workflow_id).pk)),
    }
    for name, step in steps.items():
        if name == moment_of:
            publish(desk, merchant)
            desk.now = NOW + ENDS
        if RefundWorkflow.objects.get(pk=workflow_id).state in {
            "REQUIRES_HUMAN_APPROVAL",
            "APPROVED",
            "EXECUTING",
        }:
            step()
    assert desk.posts() == []

    desk.run([advance(workflow_id)])  # what was approved under version 7 is void; a person decides again
    assert desk.workflow(workflow_id).state == "REQUIRES_HUMAN_APPROVAL"
    assert desk.workflow(workflow_id).policy_version == "REF-DUP v8"
    desk.run(approve(desk, workflow_id, merchant))

    operation = RefundOperation.objects.get(workflow_id=workflow_id, state="COMPLETED")
    assert operation.policy_version == "REF-DUP v8"
    assert versions_of_each_command(workflow_id) == {1: {"REF-DUP v7"}, 2: {"REF-DUP v8"}}
    assert len(desk.sim.refunds()) == 1


@rows
@pytest.mark.failure("F118")
def test_an_answer_that_comes_after_the_version_ended_is_kept_under_the_version_that_decided(desk):
    merchant, workflow_id = asked_under_version_7(desk)
    desk.run_one(approve(desk, workflow_id, merchant)[0])
    desk.sim.arm(kind="drop_after", count=1)
    desk.run_one(submit(desk.operation(workflow_id).pk))
    publish(desk, merchant)
    desk.now = NOW + ENDS + timedelta(hours=1)

    desk.scan()

    assert desk.operation(workflow_id).state == "COMPLETED"
    assert versions_of_each_command(workflow_id) == {1: {"REF-DUP v7"}}


# -- F112: tenants


@rows
@pytest.mark.failure("F112")
def test_two_tenants_with_the_same_question_are_each_decided_by_their_own_policy(desk):
    """The same process, the same words, the same labels: what was read for one is never used for the other."""
    generous, strict = make_merchant(), make_merchant()
    limits = {generous: {"USD": 10_000}, strict: {"USD": 1_000}}
    own = {
        merchant: make_policy(merchant=merchant, version=1, rules={"auto_limit_minor_units": limit})
        for merchant, limit in limits.items()
    }
    for _ in range(2):
        for merchant, state in ((generous, "COMPLETED"), (strict, "REQUIRES_HUMAN_APPROVAL")):
            workflow = desk.workflow(desk.ask(desk.duplicate(desk.customer(merchant)).order))
            assert (workflow.state, workflow.policy_id) == (state, own[merchant].pk)
    assert set(RefundOperation.objects.values_list("merchant_id", "policy_id")) == {
        (generous.pk, own[generous].pk)
    }


@rows
@pytest.mark.failure("F112")
def test_a_tenant_without_a_policy_borrows_none(desk):
    make_policy(merchant=make_merchant())
    made = make_duplicate_order(customer=desk.customer(make_merchant()), now=desk.now)
    workflow = desk.workflow(desk.ask(made.order))
    assert (workflow.state, workflow.policy_id) == ("MANUAL_REVIEW", None)
    assert workflow.events.latest("pk").reason == "POLICY_MISSING"
