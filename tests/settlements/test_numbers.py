"""What operators see of the books: frozen payments, differences by kind, and how old the reports are."""

from datetime import timedelta

import pytest

from ledger.models import SettlementFile
from refunds.evidence.three_books.comparing import ComparisonOrder, compare_books
from refunds.gateways.contract import STRIPE_V1
from refunds.states import CheckCause, DifferenceKind
from tests.factories import NOW, make_entry, make_merchant, make_order, make_payment
from tests.observability.test_metrics import read
from tests.settlements.test_compare_books import DAY, LATER, Listing, compare, completed, provider_of
from tests.support.committed_facts import facts_committed

pytestmark = pytest.mark.django_db


@pytest.mark.failure("F127")
def test_every_kind_of_difference_has_a_number_even_before_the_first_comparison():
    numbers = read()
    assert [numbers["book_differences", kind] for kind in DifferenceKind] == [0] * len(DifferenceKind)


def test_differences_are_those_of_each_merchants_last_comparison():
    for _ in range(2):
        operation = completed()
        compare(operation, Listing(provider_of(operation, amount_minor_units=1)))
    assert read()["book_differences", "AMOUNT_DIFFERS"] == 2
    order = ComparisonOrder(
        merchant=operation.merchant,
        books_of=DAY,
        gateway=Listing(provider_of(operation)),
        contract=STRIPE_V1,
        cause=CheckCause.PERSON,
    )
    assert compare_books(order, clock=lambda: LATER).counts == {}
    assert read()["book_differences", "AMOUNT_DIFFERS"] == 1


@pytest.mark.failure("F050")
def test_frozen_payments_are_a_number_that_pages():
    payment = make_payment(order=make_order())
    assert read()["payments_frozen",] == 0
    make_entry(payment=payment, kind="REFUND", amount_minor_units=5000)
    facts_committed()
    assert read()["payments_frozen",] == 1


def test_the_age_of_the_reports_is_that_of_the_merchant_who_is_furthest_behind():
    assert read()["settlement_age_seconds",] == 0
    for hours in (5, 90):
        merchant = make_merchant()
        for more in (0, 200):
            SettlementFile.objects.create(
                merchant=merchant,
                report="BALANCE_CHANGE",
                sha256=f"{hours}{more}",
                rows=1,
                last_booked_at=NOW - timedelta(hours=hours + more),
                imported_at=NOW,
            )
    assert read()["settlement_age_seconds",] == 90 * 3600
