"""Which charge, in which currency, to the last minor unit: from the ledger's rows to the provider's book."""

import pytest
from django.apps import apps
from django.db import models

from approvals.models import ApprovalRequest
from ledger.snapshot import EntryKind, EntryStatus
from refunds.evidence.remaining import conservation_of
from refunds.models import RefundOperation
from refunds.nudges import advance
from tests.factories import make_entry, make_order, make_payment
from tests.failures.driving import sent_form, told, words_of

pytestmark = pytest.mark.django_db(transaction=True)


def seeded_order(desk, *payments, total=4999, currency="USD"):
    """Return an order whose charges stand here and in the provider's book: (captured, amount, currency)."""
    order = make_order(customer=desk.customer(), total_minor_units=total, currency=currency)
    made = [
        make_payment(
            order=order, captured=captured, amount_minor_units=amount, currency=code, refreshed_at=desk.now
        )
        for captured, amount, code in payments
    ]
    for payment in made:
        desk.seed(payment)
    return order, made


def nothing_sent(desk, workflow_id, reason_code):
    """Check that a request ended without an operation, for this reason; return what its customer reads."""
    assert desk.workflow(workflow_id).reason_code == reason_code
    assert (RefundOperation.objects.count(), desk.posts()) == (0, [])
    return told(workflow_id)


@pytest.mark.failure("F005")
def test_refunding_the_accidental_charge_touches_neither_the_order_nor_its_own_charge(desk):
    made = desk.duplicate(desk.customer())
    before = type(made.order).objects.filter(pk=made.order.pk).values().get()

    desk.ask(made.order)

    assert [refund["charge"] for refund in desk.sim.refunds()] == [made.refunded.processor_reference]
    assert type(made.order).objects.filter(pk=made.order.pk).values().get() == before
    assert conservation_of(made.kept.pk).remaining == 4999
    assert conservation_of(made.refunded.pk).remaining == 0
    again = nothing_due_after_a_refund(desk, made)
    assert again["finding"] == "NO_DUPLICATE_FOUND"


def nothing_due_after_a_refund(desk, made):
    answer = told(desk.ask(made.order))
    assert answer["state"] == "NO_REFUND_DUE"
    assert len(desk.posts()) == 1
    return answer


@pytest.mark.failure("F028")
def test_a_hold_is_explained_to_the_customer(desk):
    order, _ = seeded_order(desk, (True, 4999, "USD"), (False, 4999, "USD"))
    answer = nothing_sent(desk, desk.ask(order), "AUTHORISATION_HOLD")
    assert answer["state"] == "NO_REFUND_DUE"
    assert "A hold is not a charge" in words_of(answer)


@pytest.mark.failure("F030")
@pytest.mark.parametrize("captured", [1, 2])
def test_failed_payments_that_come_first_are_never_candidates(desk, captured):
    order, made = seeded_order(desk, *[(True, 4999, "USD")] * (2 + captured))
    for payment in made[:2]:
        payment.entries.update(status=EntryStatus.FAILED)

    workflow_id = desk.ask(order)

    if captured == 1:
        nothing_sent(desk, workflow_id, "SINGLE_CHARGE")
        return
    proven = max(made[2:], key=lambda payment: payment.processor_reference)
    assert [refund["charge"] for refund in desk.sim.refunds()] == [proven.processor_reference]
    assert desk.operation(workflow_id).payment == proven


@pytest.mark.failure("F044")
def test_what_was_only_authorised_is_never_refunded(desk):
    """100 were authorised and 40 captured, twice: 40 is all that there is to refund."""
    order, made = seeded_order(desk, (True, 4000, "USD"), (True, 4000, "USD"), total=4000)
    for payment in made:
        make_entry(payment=payment, kind=EntryKind.AUTHORISATION, amount_minor_units=10_000)
        assert conservation_of(payment.pk).remaining == 4000

    operation = desk.operation(desk.ask(order))

    assert (operation.state, operation.amount_minor_units) == ("COMPLETED", 4000)
    assert sent_form(desk.posts()[0])["amount"] == "4000"
    assert conservation_of(operation.payment_id).remaining == 0


@pytest.mark.failure("F044")
def test_more_than_is_left_of_the_capture_is_not_sent(desk):
    """100 were authorised, 70 captured, and 30 of them went back elsewhere: 70 may not leave any more."""
    order, _ = seeded_order(desk, (True, 7000, "USD"), (True, 7000, "USD"), total=7000)
    workflow_id = desk.ask(order, run=False)
    (nudge,) = desk.run_one(advance(workflow_id))
    payment = desk.operation(workflow_id).payment
    make_entry(payment=payment, kind=EntryKind.AUTHORISATION, amount_minor_units=10_000)
    make_entry(payment=payment, kind=EntryKind.REFUND, amount_minor_units=3000)

    desk.run_one(nudge)

    assert desk.operation(workflow_id).state == "CANCELLED"
    assert conservation_of(payment.pk).remaining == 4000
    assert desk.posts() == []


@pytest.mark.failure("F045")
@pytest.mark.parametrize("amount", [500, 50_000])
def test_yen_are_sent_stored_and_shown_as_yen(desk, amount, client):
    merchant = desk.shop(rules={"auto_limit_minor_units": {"JPY": 100_000}})
    made = desk.duplicate(desk.customer(merchant), amount_minor_units=amount, currency="JPY")

    workflow_id = desk.ask(made.order)

    form = sent_form(desk.posts()[0])
    assert (form["amount"], form.get("currency", "jpy")) == (str(amount), "jpy")
    operation = desk.operation(workflow_id)
    assert (operation.amount_minor_units, operation.currency) == (amount, "JPY")
    assert [(r["amount"], r["currency"]) for r in desk.sim.refunds()] == [(amount, "jpy")]
    client.force_login(made.order.customer.user)
    page = client.get(f"/support/requests/{desk.workflow(workflow_id).reference}/").content.decode()
    assert f"¥{amount:,}" in page
    assert f"¥{amount * 100:,}" not in page


CENTS = [14_505, 820, 1999, 29, 435, 115]  # what float arithmetic makes one cent too small


@pytest.mark.failure("F047")
@pytest.mark.parametrize("amount", CENTS)
def test_an_amount_is_the_same_whole_number_from_the_ledger_to_the_providers_book(desk, amount):
    merchant = desk.shop(rules={"auto_limit_minor_units": {"USD": 100_000}})
    made = desk.duplicate(desk.customer(merchant), amount_minor_units=amount)

    workflow_id = desk.ask(made.order)

    assert sent_form(desk.posts()[0])["amount"] == str(amount)
    assert desk.sim.refunds()[0]["amount"] == amount
    shown = told(workflow_id)["operation"]["amount_minor_units"]
    assert (shown, type(shown)) == (amount, int)
    frozen = ApprovalRequest.objects.get(subject_id=workflow_id).command["amount_minor_units"]
    assert (frozen, type(frozen)) == (amount, int)
    assert f"${amount // 100}.{amount % 100:02}" in words_of(told(workflow_id))


@pytest.mark.failure("F047")
def test_no_column_holds_money_as_anything_but_whole_numbers():
    ours = {"refunds", "approvals", "notifications", "policies", "ledger"}
    columns = [
        field for model in apps.get_models() if model._meta.app_label in ours for field in model._meta.fields
    ]
    assert not [str(field) for field in columns if isinstance(field, models.FloatField | models.DecimalField)]
    amounts = [field for field in columns if "minor_units" in field.name]
    assert amounts
    assert all(isinstance(field, models.BigIntegerField) for field in amounts)


@pytest.mark.failure("F049")
@pytest.mark.parametrize(
    ("shown", "charged"), [((100_000, "GBP"), (9_863_300, "INR")), ((9_863_300, "INR"), (100_000, "GBP"))]
)
def test_a_currency_that_disagrees_with_the_charge_is_investigated(desk, shown, charged):
    order, _ = seeded_order(desk, (True, *charged), (True, *charged), total=shown[0], currency=shown[1])
    answer = nothing_sent(desk, desk.ask(order), "ORDER_CURRENCY_DISAGREES")
    assert (answer["state"], answer["finding"]) == ("MANUAL_REVIEW", "REQUIRES_INVESTIGATION")


@pytest.mark.failure("F049")
def test_amount_and_currency_are_those_of_the_charge(desk):
    merchant = desk.shop(rules={"auto_limit_minor_units": {"INR": 10_000_000}})
    made = desk.duplicate(desk.customer(merchant), amount_minor_units=9_863_300, currency="INR")
    operation = desk.operation(desk.ask(made.order))
    assert (operation.state, operation.currency) == ("COMPLETED", "INR")
    assert [(r["amount"], r["currency"]) for r in desk.sim.refunds()] == [(9_863_300, "inr")]


@pytest.mark.failure("F052")
def test_two_purchases_of_one_amount_on_one_day_are_no_duplicate(desk):
    customer = desk.customer()
    orders = [make_order(customer=customer) for _ in range(2)]
    for order in orders:
        desk.seed(make_payment(order=order, refreshed_at=desk.now))
    answer = nothing_sent(desk, desk.ask(orders[0]), "TWO_ORDERS")
    assert (answer["state"], answer["finding"]) == ("NO_REFUND_DUE", "NO_DUPLICATE_FOUND")


@pytest.mark.failure("F052")
def test_one_charge_that_a_feed_lists_twice_is_no_duplicate(desk):
    order, (payment,) = seeded_order(desk, (True, 4999, "USD"))
    payment.entries.update(seen_count=2)
    answer = nothing_sent(desk, desk.ask(order), "REPEATED_DISPLAY_EVENT")
    assert (answer["state"], answer["finding"]) == ("NO_REFUND_DUE", "NO_DUPLICATE_FOUND")


@pytest.mark.failure("F139")
def test_a_real_amount_above_two_to_the_31_is_refunded(desk):
    large = 2**31 + 1
    merchant = desk.shop(rules={"auto_limit_minor_units": {"USD": 2**40}})
    made = desk.duplicate(desk.customer(merchant), amount_minor_units=large)
    workflow_id = desk.ask(made.order)
    assert sent_form(desk.posts()[0])["amount"] == str(large)
    assert told(workflow_id)["operation"]["amount_minor_units"] == large
    assert "$21,474,836.49" in words_of(told(workflow_id))
    desk.assert_books_agree()


@pytest.mark.failure("F027")
@pytest.mark.parametrize("disputed", ["kept", "refunded"])
@pytest.mark.parametrize(("status", "code"), [("OPEN", "DISPUTE_OPEN"), ("LOST", "DISPUTE_DECIDED")])
def test_a_charge_that_the_bank_holds_or_took_back_is_not_refunded_as_well(desk, disputed, status, code):
    """Dispute first, request then: people decide, and no approval is asked for by itself."""
    made = desk.duplicate(desk.customer())
    make_entry(payment=getattr(made, disputed), kind=EntryKind.DISPUTE, status=EntryStatus(status))
    answer = nothing_sent(desk, desk.ask(made.order), code)
    assert (answer["state"], answer["finding"]) == ("MANUAL_REVIEW", "REQUIRES_INVESTIGATION")
    assert not ApprovalRequest.objects.exists()
    desk.later(minutes=5)
    desk.scan()
    assert desk.posts() == []
