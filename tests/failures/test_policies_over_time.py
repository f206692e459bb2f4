"""Which policy version decides, and how old a purchase is: month ends, zones, new versions and other tenants."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from approvals.models import ApprovalRequest
from ledger.models import Order
from policies.models import PolicyVersion
from policies.rules import age_in_days
from refunds import pipeline
from refunds.models import RefundOperation, RefundWorkflow, RuleResult
from refunds.nudges import advance, submit
from tests.factories import NOW, make_duplicate_order, make_merchant, make_policy, make_staff

rows = pytest.mark.django_db(transaction=True)
ZONES = [
    ZoneInfo(name) for name in ("UTC", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Apia", "Europe/London")
]
PAIRS = 10_000


# -- F115: days


def days_since_epoch(year, month, day):
    """Count days by the calendar's own rules (months from March, eras of 400 years), without Python's dates."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year


def whole_days(since, at):
    """Return the days between two moments, from what a UTC calendar and clock show."""
    one, two = since.astimezone(UTC), at.astimezone(UTC)
    days = days_since_epoch(two.year, two.month, two.day) - days_since_epoch(one.year, one.month, one.day)
    return days - (two.timetz() < one.timetz())


def moment(chance):
    """Return any moment of these decades in any zone, with more than its share at month and year ends."""
    any_day = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(days=chance.randrange(15_000))
    if chance.random() < 0.4:
        any_day = any_day.replace(day=1) - timedelta(days=chance.choice([0, 1]))
    if chance.random() < 0.1:
        any_day = any_day.replace(
            year=chance.choice([2000, 2024, 2028, 2032]), month=2, day=chance.choice([28, 29])
        )
    clock = timedelta(seconds=chance.choice([0, 1, 43_200, 86_399, chance.randrange(86_400)]))
    return (any_day + clock).astimezone(chance.choice(ZONES))


@pytest.mark.failure("F115")
def test_the_age_of_a_purchase_agrees_with_the_calendar_on_ten_thousand_pairs():
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    for _ in range(PAIRS):
        since, at = moment(chance), moment(chance)
        if chance.random() < 0.5:  # near each other, where a difference of days of the month goes wrong
            at = since + timedelta(seconds=chance.randrange(-86_400, 100 * 86_400))
        assert age_in_days(since, at) == whole_days(since, at), f"seed {seed}: {since} {at}"


@pytest.mark.failure("F115")
@pytest.mark.parametrize(
    ("placed", "asked", "days"),
    [
        (
            datetime(2026, 1, 31, 12, tzinfo=UTC),
            datetime(2026, 2, 8, 12, tzinfo=UTC),
            8,
        ),  # the published case
        (datetime(2025, 12, 31, 23, 59, tzinfo=UTC), datetime(2026, 1, 1, 0, 1, tzinfo=UTC), 0),
        (datetime(2024, 2, 28, 12, tzinfo=UTC), datetime(2024, 3, 1, 12, tzinfo=UTC), 2),
        (datetime(2026, 2, 28, 12, tzinfo=UTC), datetime(2026, 3, 1, 12, tzinfo=UTC), 1),
        (
            datetime(2026, 3, 28, 12, tzinfo=ZONES[4]),
            datetime(2026, 3, 29, 12, 30, tzinfo=ZONES[4]),
            0,
        ),  # 23.5 h
        (datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC), -1),
    ],
)
def test_at_the_ends_of_months_and_years(placed, asked, days):
    assert age_in_days(placed, asked) == whole_days(placed, asked) == days


@rows
@pytest.mark.failure("F115")
@pytest.mark.parametrize(("days", "state"), [(90, "COMPLETED"), (91, "MANUAL_REVIEW")])
def test_a_request_is_decided_by_the_days_that_the_policy_gives(desk, days, state):
    """Bought on 31 August; the 90 days of the policy run over the ends of three months."""
    made = desk.duplicate(desk.customer())
    Order.objects.filter(pk=made.order.pk).update(placed_at=NOW - timedelta(days=days, hours=23))
    workflow_id = desk.ask(made.order)
    assert desk.workflow(workflow_id).state == state
    assert RuleResult.objects.get(rule="POLICY_RULES").inputs["age_days"] == days


# -- F114: whose days

PACIFIC = "America/Los_Angeles"
BOUGHT = datetime(
    2026, 10, 29, 23, 30, tzinfo=ZoneInfo(PACIFIC)
)  # the clocks change on the third day after it
DAY_31 = datetime(2026, 11, 29, 0, 0, tzinfo=ZoneInfo(PACIFIC))


@pytest.mark.failure("F114")
def test_days_of_a_named_zone_agree_with_its_calendar_on_ten_thousand_pairs():
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    for _ in range(PAIRS):
        since, zone = moment(chance), chance.choice(ZONES)
        at = since + timedelta(seconds=chance.choice([0, 1, 86_399, 86_400, chance.randrange(100 * 86_400)]))
        one, two = since.astimezone(zone), at.astimezone(zone)
        days = days_since_epoch(two.year, two.month, two.day) - days_since_epoch(one.year, one.month, one.day)
        assert age_in_days(since, at, zone=zone) == days, f"seed {seed}: {since} {at} {zone}"
    assert age_in_days(BOUGHT, BOUGHT - timedelta(seconds=1), zone=BOUGHT.tzinfo) == -1


@rows
@pytest.mark.failure("F114")
@pytest.mark.parametrize("server", ["UTC", "Pacific/Apia", PACIFIC])
@pytest.mark.parametrize(
    ("asked", "zone", "state"),
    [
        (DAY_31 - timedelta(minutes=15), PACIFIC, "COMPLETED"),  # day 30 at 23:45, the published case
        (DAY_31 - timedelta(seconds=1), PACIFIC, "COMPLETED"),
        (DAY_31, PACIFIC, "MANUAL_REVIEW"),
        (DAY_31 + timedelta(seconds=1), PACIFIC, "MANUAL_REVIEW"),
        (DAY_31, "Pacific/Honolulu", "COMPLETED"),  # where it is still the day before
        (BOUGHT.astimezone(UTC) + timedelta(days=31, seconds=-1), None, "COMPLETED"),  # days of 24 hours
        (BOUGHT.astimezone(UTC) + timedelta(days=31), None, "MANUAL_REVIEW"),
    ],
)
def test_the_days_of_a_purchase_are_those_of_the_zone_that_the_policy_names(desk, server, asked, zone, state):
    named = {"time_zone": zone} if zone else {}
    desk.now = asked.astimezone(UTC)
    with timezone.override(server):
        made = desk.duplicate(desk.customer(desk.shop({"max_age_days": 30} | named)))
        Order.objects.filter(pk=made.order.pk).update(placed_at=BOUGHT)
        assert desk.workflow(desk.ask(made.order)).state == state


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
