"""The duplicate rule: what verifies, and that only the rows decide."""

from dataclasses import FrozenInstanceError
from datetime import timedelta

import pytest

from ledger.duplicates import RULE_VERSION, DuplicateFinding, Finding, ReasonCode
from ledger.snapshot import EntryStatus
from tests.ledger.views import (
    FIRST,
    HOLD,
    NO_DUPLICATE,
    NOW,
    SECOND,
    charge,
    duplicate_order,
    entry,
    find,
    order,
    outcome,
    payment,
)


def test_two_captures_of_one_purchase_are_a_verified_duplicate_and_the_later_is_refunded():
    assert find(duplicate_order()) == DuplicateFinding(
        finding=Finding.VERIFIED_DUPLICATE_CHARGE,
        reason_code=ReasonCode.TWO_CAPTURES_OF_ONE_PURCHASE,
        refund_payment_id=12,
        kept_payment_id=11,
        refund_reference="ch_A2",
        kept_reference="ch_A1",
        amount_minor_units=4999,
        currency="USD",
        evidence=("ch_A1", "ch_A2"),
        other_order_numbers=(),
        rule_version=RULE_VERSION,
    )


def test_a_finding_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        find(duplicate_order()).amount_minor_units = 9999


def test_the_later_capture_is_the_target_whatever_the_ids_and_creation_times_say():
    earlier = charge(99, "ch_Z", created_at=NOW)
    later = charge(3, "ch_B", at=SECOND, created_at=FIRST - timedelta(days=1))
    found = find(order(later, earlier))
    assert (found.refund_payment_id, found.kept_payment_id) == (3, 99)


def test_a_tie_on_time_goes_to_the_larger_processor_reference():
    found = find(order(charge(5, "ch_B"), charge(6, "ch_A")))
    assert (found.refund_reference, found.kept_reference) == ("ch_B", "ch_A")


@pytest.mark.failure("F030")
def test_failed_charges_beside_the_pair_are_never_candidates():
    failed = [
        payment(n, entry(f"ch_F{n}", status=EntryStatus.FAILED, at=FIRST - timedelta(minutes=n)))
        for n in (1, 2)
    ]
    found = find(order(*failed, charge(11, "ch_A1"), charge(12, "ch_A2", at=SECOND)))
    assert found.finding is Finding.VERIFIED_DUPLICATE_CHARGE
    assert (found.refund_payment_id, found.evidence) == (12, ("ch_A1", "ch_A2"))


@pytest.mark.failure("F030")
def test_failed_charges_beside_one_capture_are_a_single_charge():
    failed = [payment(n, entry(f"ch_F{n}", status=EntryStatus.FAILED)) for n in (1, 2)]
    found = find(order(*failed, charge(11, "ch_A1", at=SECOND)))
    assert outcome(found) == (NO_DUPLICATE, ReasonCode.SINGLE_CHARGE, ("ch_A1",))


def test_a_hold_beside_a_proven_pair_does_not_hide_it():
    hold = payment(13, entry("ch_H", kind=HOLD, at=SECOND))
    assert find(order(*duplicate_order().payments, hold)).finding is Finding.VERIFIED_DUPLICATE_CHARGE


@pytest.mark.failure("F139")
def test_a_real_amount_above_two_to_the_31_is_handled():
    large = 2**31 + 1
    found = find(order(charge(11, "ch_A1", large), charge(12, "ch_A2", large, at=SECOND), total=large))
    assert (found.finding, found.amount_minor_units) == (Finding.VERIFIED_DUPLICATE_CHARGE, large)


@pytest.mark.parametrize(("currency", "amount"), [("JPY", 500), ("KWD", 5120), ("EUR", 1), ("USD", 2**62)])
@pytest.mark.failure("F045")
def test_amounts_stay_in_minor_units_of_the_charge(currency, amount):
    pair = [charge(n, f"ch_{n}", amount, currency=currency, at=at) for n, at in ((1, FIRST), (2, SECOND))]
    found = find(order(*pair, total=amount, currency=currency))
    assert (found.finding, found.amount_minor_units, found.currency) == (
        Finding.VERIFIED_DUPLICATE_CHARGE,
        amount,
        currency,
    )
