"""What an export counts without naming it is never taken for a refund of ours, and nothing is counted too low."""

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ledger.models import LedgerEntry, Payment
from refunds import pipeline
from refunds.evidence.booking import adopt_refunds
from refunds.evidence.remaining import conservation_of
from refunds.evidence.unnamed import unnamed_left
from refunds.gateways.port import ProviderStatus
from refunds.models import RefundOperation
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import OperationState
from tests.casework.staff import approve, charge_of, start
from tests.factories import NOW, make_entry, make_merchant, make_policy, make_staff, move_operation
from tests.factories.commands import WHY
from tests.stages.gateways import booked, listed

pytestmark = pytest.mark.django_db
CAPTURED, OURS = 1_000_000, 3000
AMOUNTS = st.integers(0, 10**6)


@given(AMOUNTS, AMOUNTS, AMOUNTS)
def test_the_larger_total_has_gone(unnamed, total, listed_sum):
    left = unnamed_left(unnamed=unnamed, total=total, listed=listed_sum)
    assert 0 <= left <= unnamed
    assert listed_sum + left >= min(listed_sum + unnamed, max(total, listed_sum))
    assert unnamed_left(unnamed=unnamed, total=None, listed=listed_sum) == unnamed


class Provider:
    """One payment at the provider, an operation of ours on it, and what the desk was told of both."""

    def __init__(self):
        merchant = make_merchant()
        make_policy(merchant=merchant)
        starter, approver = make_staff(merchant=merchant), make_staff(merchant=merchant)
        self.charge = charge_of(merchant, amount=CAPTURED)
        workflow = start(self.charge, starter, amount_minor_units=OURS)
        approve(workflow, approver)
        pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
        self.operation = RefundOperation.objects.get(workflow=workflow)
        move_operation(self.operation, OperationState.SUBMITTED)
        self.truth, self.told, self.exported = {}, set(), set()

    def dashboard(self, amount):
        reference = f"re_{len(self.truth)}"
        self.truth[reference] = booked(
            self.operation, processor_reference=reference, operation_id=None, amount_minor_units=amount,
            created_at=NOW + timedelta(seconds=len(self.truth)),
        )  # fmt: skip

    def send(self, _amount):
        if "re_ours" not in self.truth:
            self.truth["re_ours"] = booked(self.operation, processor_reference="re_ours", created_at=NOW)

    def answer(self, _amount):
        if "re_ours" not in self.truth or self.state() == "COMPLETED":
            return
        self.told.add("re_ours")
        self.complete()

    def complete(self):
        with evidence_transaction(
            workflow_id=self.operation.workflow_id,
            operation_id=self.operation.pk,
            payment_ids=[self.charge.pk],
            now=NOW,
        ) as evidence:
            evidence.move_operation(OperationState.COMPLETED, WHY, processor_reference="re_ours")

    def export(self, _amount):
        """Load what a payments export says, as ``ledger.loading`` does."""
        total = sum(fact.amount_minor_units for fact in self.truth.values())
        refunds = LedgerEntry.objects.filter(payment=self.charge, kind="REFUND")
        counted = sum(row.amount_minor_units for row in refunds if row.status in {"SUCCEEDED", "PENDING"})
        name = f"{self.charge.processor_reference}#refunded:{total}"
        if total > counted and not refunds.filter(processor_reference=name).exists():
            make_entry(
                payment=self.charge,
                kind="REFUND",
                processor_reference=name,
                amount_minor_units=total - counted,
            )
        self.exported = set(self.truth)

    def event(self, _amount):
        """One refund is read by its id alone, as an event leads to it."""
        foreign = [fact for fact in self.truth.values() if fact.operation_id is None]
        if foreign:
            self.read(foreign[-1], complete=False)
            self.told.add(foreign[-1].processor_reference)

    def look(self, _amount):
        self.read(*self.truth.values(), complete=True)
        self.told |= set(self.truth)

    def read(self, *facts, complete):
        with transaction.atomic():
            locked = Payment.objects.select_for_update(no_key=True).get(pk=self.charge.pk)
            adopt_refunds([locked], [listed(*facts, complete=complete)], now=NOW)

    def state(self):
        return RefundOperation.objects.get(pk=self.operation.pk).state

    def gone(self, references):
        return sum(self.truth[reference].amount_minor_units for reference in references)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["dashboard", "send", "answer", "export", "event", "look"]),
        st.sampled_from([1000, OURS, 4000]),
    ),
    max_size=9,
)


@example([("dashboard", OURS), ("export", 0), ("send", 0), ("answer", 0)])
@example([("send", 0), ("export", 0), ("look", 0), ("look", 0), ("answer", 0)])
@example([("dashboard", 1000), ("send", 0), ("export", 0), ("look", 0), ("dashboard", OURS), ("event", 0)])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_never_more_is_refundable_than_what_was_told_allows(db, steps):
    provider = Provider()
    for step, amount in steps:
        getattr(provider, step)(amount)
        money = conservation_of(provider.charge.pk)
        others = (provider.told | provider.exported) - {"re_ours"}
        assert money.remaining <= CAPTURED - provider.gone(others) - OURS  # ours is held back, or booked
    provider.look(0)
    money = conservation_of(provider.charge.pk)
    foreign = provider.gone(set(provider.truth) - {"re_ours"})
    assert money.remaining == CAPTURED - foreign - OURS


@pytest.fixture
def provider():
    return Provider()


def entries(provider):
    rows = LedgerEntry.objects.filter(payment=provider.charge, kind="REFUND").order_by("pk")
    return [
        (row.processor_reference.removeprefix(provider.charge.processor_reference), row.status)
        for row in rows
    ]


def test_an_answer_of_our_own_explains_nothing_of_what_an_export_counted(provider):
    provider.dashboard(OURS)
    provider.export(0)
    provider.send(0)
    provider.answer(0)
    assert entries(provider) == [("#refunded:3000", "SUCCEEDED"), ("re_ours", "SUCCEEDED")]
    assert conservation_of(provider.charge.pk).refunded == 2 * OURS


def test_what_a_list_does_not_explain_stays_counted_under_a_name_of_its_own(provider):
    provider.dashboard(4000)
    provider.send(0)
    provider.export(0)
    ours = provider.truth["re_ours"]
    for _ in range(3):
        provider.read(ours, complete=True)
    assert entries(provider) == [("#refunded:7000", "CANCELED"), ("#refunded:7000:left:4000", "SUCCEEDED")]
    provider.look(0)
    provider.complete()
    assert entries(provider)[1:] == [
        ("#refunded:7000:left:4000", "CANCELED"), ("re_0", "SUCCEEDED"), ("re_ours", "SUCCEEDED"),
    ]  # fmt: skip


def test_a_second_refund_under_our_id_counts_beside_the_one_that_is_held_back(provider):
    provider.send(0)
    second = booked(provider.operation, processor_reference="re_zwei", created_at=NOW + timedelta(1))
    provider.read(provider.truth["re_ours"], second, complete=True)
    assert entries(provider) == [("re_zwei", "SUCCEEDED")]
    assert conservation_of(provider.charge.pk).remaining == CAPTURED - 2 * OURS
    provider.complete()
    assert conservation_of(provider.charge.pk).remaining == CAPTURED - 2 * OURS


@pytest.mark.parametrize("changed", [{"amount_minor_units": 9000}, {"currency": "EUR"}])
def test_a_refund_under_our_id_for_other_money_is_counted_as_it_is(provider, changed):
    odd = booked(provider.operation, processor_reference="re_odd", **changed)
    provider.read(odd, complete=True)
    money = conservation_of(provider.charge.pk)
    assert (money.refunded, money.reserved) == (odd.amount_minor_units, OURS)


def test_of_two_refunds_under_our_id_the_failed_one_is_not_held_for_ours(provider):
    failed = booked(provider.operation, ProviderStatus.FAILED, processor_reference="re_a", created_at=NOW)
    alive = booked(provider.operation, processor_reference="re_b", created_at=NOW + timedelta(1))
    provider.read(failed, alive, complete=True)
    assert entries(provider) == [("re_a", "FAILED")]
    assert conservation_of(provider.charge.pk).remaining == CAPTURED - OURS
