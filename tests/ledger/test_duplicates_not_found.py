"""Look-alikes that are no duplicate, each by its name."""

import pytest

from ledger.duplicates import Finding, ReasonCode
from ledger.snapshot import EntryStatus
from tests.ledger.views import (
    HOLD,
    NO_DUPLICATE,
    NOW,
    REFUND,
    REVERSAL,
    SECOND,
    charge,
    duplicate_order,
    entry,
    find,
    order,
    outcome,
    payment,
    sibling,
)


def test_a_single_charge():
    assert outcome(find(order(charge(11, "ch_A1")))) == (NO_DUPLICATE, ReasonCode.SINGLE_CHARGE, ("ch_A1",))


def test_an_order_without_payments_has_no_completed_capture():
    assert outcome(find(order())) == (NO_DUPLICATE, ReasonCode.NO_COMPLETED_CAPTURE, ())


def test_only_failed_and_authorised_rows_are_no_completed_capture():
    failed = payment(11, entry("ch_F", status=EntryStatus.FAILED))
    hold = payment(12, entry("ch_H", kind=HOLD, at=SECOND))
    assert outcome(find(order(failed, hold))) == (
        NO_DUPLICATE,
        ReasonCode.NO_COMPLETED_CAPTURE,
        ("ch_F", "ch_H"),
    )


@pytest.mark.failure("F028")
@pytest.mark.parametrize("status", [EntryStatus.SUCCEEDED, EntryStatus.PENDING, EntryStatus.CANCELED])
def test_a_charge_and_an_authorisation_hold(status):
    hold = payment(12, entry("ch_H", kind=HOLD, status=status, at=SECOND))
    assert outcome(find(order(charge(11, "ch_A1"), hold))) == (
        NO_DUPLICATE,
        ReasonCode.AUTHORISATION_HOLD,
        ("ch_A1", "ch_H"),
    )


def test_a_declined_authorisation_is_no_hold():
    declined = payment(12, entry("ch_H", kind=HOLD, status=EntryStatus.FAILED))
    assert find(order(charge(11, "ch_A1"), declined)).reason_code is ReasonCode.SINGLE_CHARGE


@pytest.mark.failure("F044")
def test_the_authorisation_of_a_captured_payment_is_no_second_charge_and_its_amount_never_counts():
    held_then_captured = payment(
        11, entry("auth_1", 10_000, kind=HOLD), entry("ch_A1", 4000, at=SECOND), reference="ch_A1"
    )
    assert outcome(find(order(held_then_captured, total=4000))) == (
        NO_DUPLICATE,
        ReasonCode.SINGLE_CHARGE,
        ("ch_A1",),
    )
    second = payment(12, entry("auth_2", 10_000, kind=HOLD), entry("ch_A2", 4000, at=NOW), reference="ch_A2")
    assert find(order(held_then_captured, second, total=4000)).amount_minor_units == 4000


@pytest.mark.parametrize("kind", [REVERSAL, REFUND])
def test_a_released_hold_beside_a_charge_is_no_reversed_charge(kind):
    hold = payment(12, entry("ch_H", kind=HOLD), entry("rv_1", kind=kind, at=SECOND))
    assert outcome(find(order(charge(11, "ch_A1"), hold))) == (
        NO_DUPLICATE,
        ReasonCode.HOLD_RELEASED,
        ("ch_A1", "ch_H", "rv_1"),
    )


@pytest.mark.parametrize("status", [EntryStatus.PENDING, EntryStatus.FAILED, EntryStatus.CANCELED])
def test_a_hold_whose_release_is_not_done_is_still_a_hold(status):
    hold = payment(12, entry("ch_H", kind=HOLD), entry("rv_1", kind=REVERSAL, status=status, at=SECOND))
    assert find(order(charge(11, "ch_A1"), hold)).reason_code is ReasonCode.AUTHORISATION_HOLD


def test_one_released_hold_does_not_release_another():
    released = payment(12, entry("ch_H", kind=HOLD), entry("rv_1", kind=REVERSAL, at=SECOND))
    held = payment(13, entry("ch_G", kind=HOLD, at=SECOND))
    found = find(order(charge(11, "ch_A1"), released, held))
    assert (found.finding, found.reason_code) == (NO_DUPLICATE, ReasonCode.AUTHORISATION_HOLD)


def test_a_charge_and_a_reversed_charge():
    reversed_charge = charge(12, "ch_A2", at=SECOND, also=[entry("rv_1", kind=REVERSAL, at=NOW)])
    assert outcome(find(order(charge(11, "ch_A1"), reversed_charge))) == (
        NO_DUPLICATE,
        ReasonCode.CHARGE_AND_REVERSAL,
        ("ch_A1", "ch_A2", "rv_1"),
    )


def test_a_reversal_of_the_earlier_charge():
    first = charge(11, "ch_A1", also=[entry("rv_1", kind=REVERSAL, at=NOW)])
    found = find(order(first, charge(12, "ch_A2", at=SECOND)))
    assert (found.finding, found.reason_code) == (NO_DUPLICATE, ReasonCode.CHARGE_AND_REVERSAL)


def test_one_charge_that_was_reversed():
    view = order(charge(11, "ch_A1", also=[entry("rv_1", kind=REVERSAL, at=SECOND)]))
    assert outcome(find(view)) == (NO_DUPLICATE, ReasonCode.CHARGE_AND_REVERSAL, ("ch_A1", "rv_1"))


@pytest.mark.failure("F005")
def test_one_of_the_two_captures_is_already_refunded_in_full():
    back = entry("re_1", kind=REFUND, at=NOW)
    assert outcome(find(order(charge(11, "ch_A1"), charge(12, "ch_A2", at=SECOND, also=[back])))) == (
        NO_DUPLICATE,
        ReasonCode.ALREADY_REFUNDED,
        ("ch_A1", "ch_A2", "re_1"),
    )


@pytest.mark.failure("F005")
def test_two_partial_refunds_that_add_up_are_a_full_refund_even_with_an_unknown_total():
    back = [entry("re_1", 2000, kind=REFUND, at=NOW), entry("re_2", 2999, kind=REFUND, at=NOW)]
    found = find(order(charge(11, "ch_A1", also=back), charge(12, "ch_A2", at=SECOND), total=None))
    assert (found.finding, found.reason_code) == (NO_DUPLICATE, ReasonCode.ALREADY_REFUNDED)


def test_an_earlier_partial_refund_on_one_of_the_two():
    back = entry("re_1", 1000, kind=REFUND, at=NOW)
    assert outcome(find(order(charge(11, "ch_A1", also=[back]), charge(12, "ch_A2", at=SECOND)))) == (
        NO_DUPLICATE,
        ReasonCode.EARLIER_PARTIAL_REFUND,
        ("ch_A1", "ch_A2", "re_1"),
    )


@pytest.mark.parametrize(
    ("amount", "code"),
    [(4999, ReasonCode.ALREADY_REFUNDED), (1000, ReasonCode.EARLIER_PARTIAL_REFUND)],
)
def test_a_single_charge_that_was_refunded(amount, code):
    view = order(charge(11, "ch_A1", also=[entry("re_1", amount, kind=REFUND, at=SECOND)]))
    assert outcome(find(view)) == (NO_DUPLICATE, code, ("ch_A1", "re_1"))


@pytest.mark.parametrize("status", [EntryStatus.FAILED, EntryStatus.CANCELED])
@pytest.mark.parametrize("kind", [REFUND, REVERSAL])
def test_a_refund_or_reversal_that_did_not_happen_counts_for_nothing(kind, status):
    nothing = entry("re_1", kind=kind, status=status, at=NOW)
    found = find(order(charge(11, "ch_A1", also=[nothing]), charge(12, "ch_A2", at=SECOND)))
    assert (found.finding, found.refund_payment_id) == (Finding.VERIFIED_DUPLICATE_CHARGE, 12)


def test_charges_in_two_currencies():
    view = order(charge(11, "ch_A1"), charge(12, "ch_A2", currency="EUR", at=SECOND))
    assert outcome(find(view)) == (NO_DUPLICATE, ReasonCode.DIFFERENT_CURRENCIES, ("ch_A1", "ch_A2"))


@pytest.mark.failure("F052")
def test_two_orders_of_the_same_amount_are_two_purchases():
    view = order(
        charge(11, "ch_A1"),
        siblings=(sibling("2850", entry("ch_B1", at=SECOND)), sibling("2851", entry("ch_C1", 5000))),
    )
    found = find(view)
    assert outcome(found) == (NO_DUPLICATE, ReasonCode.TWO_ORDERS, ("ch_A1", "ch_B1"))
    assert found.other_order_numbers == ("2850",)


def test_another_order_in_another_currency_or_with_the_same_charge_explains_nothing():
    others = (sibling("2850", entry("ch_B1", currency="EUR")), sibling("2851", entry("ch_A1")))
    assert find(order(charge(11, "ch_A1"), siblings=others)).reason_code is ReasonCode.SINGLE_CHARGE


def test_an_equal_charge_of_another_order_does_not_hide_a_proven_pair():
    view = duplicate_order(siblings=(sibling("2850", entry("ch_B1")),))
    assert find(view).finding is Finding.VERIFIED_DUPLICATE_CHARGE


@pytest.mark.failure("F052")
@pytest.mark.parametrize("total", [9998, 12_000])
def test_an_order_total_that_covers_both_captures(total):
    assert outcome(find(duplicate_order(total_minor_units=total))) == (
        NO_DUPLICATE,
        ReasonCode.TOTAL_COVERS_BOTH,
        ("ch_A1", "ch_A2"),
    )


@pytest.mark.failure("F052")
def test_a_repeated_display_event_is_one_charge():
    view = order(payment(11, entry("ch_A1", seen=2)))
    assert outcome(find(view)) == (NO_DUPLICATE, ReasonCode.REPEATED_DISPLAY_EVENT, ("ch_A1",))


@pytest.mark.failure("F052")
def test_one_charge_listed_twice_by_a_source_is_one_charge():
    once = charge(11, "ch_A1")
    assert outcome(find(order(once, once))) == (
        NO_DUPLICATE,
        ReasonCode.REPEATED_DISPLAY_EVENT,
        ("ch_A1",),
    )


def test_a_pair_with_a_repeated_row_is_still_a_pair():
    twice = payment(12, entry("ch_A2", at=SECOND, seen=3))
    assert find(order(charge(11, "ch_A1"), twice)).finding is Finding.VERIFIED_DUPLICATE_CHARGE
