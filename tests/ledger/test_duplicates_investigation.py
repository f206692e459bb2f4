"""Look-alikes that a person has to look at, each by its name."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.duplicates import Finding, ReasonCode
from ledger.snapshot import EntryStatus
from tests.ledger.views import (
    DISPUTE,
    FIRST,
    INVESTIGATE,
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
)


@pytest.mark.failure("F027")
@pytest.mark.parametrize(
    ("status", "code"),
    [
        (EntryStatus.OPEN, ReasonCode.DISPUTE_OPEN),
        (EntryStatus.LOST, ReasonCode.DISPUTE_DECIDED),
        (EntryStatus.WON, ReasonCode.DISPUTE_DECIDED),
    ],
)
def test_a_dispute_on_either_capture(status, code):
    dispute = entry("dp_1", kind=DISPUTE, status=status, at=NOW)
    for first, second in (([dispute], []), ([], [dispute])):
        view = order(charge(11, "ch_A1", also=first), charge(12, "ch_A2", at=SECOND, also=second))
        assert outcome(find(view)) == (INVESTIGATE, code, ("ch_A1", "ch_A2", "dp_1"))


@pytest.mark.failure("F027")
def test_an_open_dispute_outranks_a_full_refund_a_third_capture_and_a_stale_snapshot():
    also = [
        entry("re_1", kind=REFUND, at=NOW),
        entry("dp_1", kind=DISPUTE, status=EntryStatus.OPEN, at=NOW),
        entry("dp_2", kind=DISPUTE, status=EntryStatus.WON, at=NOW),
    ]
    view = order(charge(11, "ch_A1", also=also), charge(12, "ch_A2", at=SECOND), charge(13, "ch_A3", at=NOW))
    found = find(view, taken_at=NOW - timedelta(days=1))
    assert (found.finding, found.reason_code) == (INVESTIGATE, ReasonCode.DISPUTE_OPEN)


def test_a_dispute_on_a_single_charge():
    dispute = entry("dp_1", kind=DISPUTE, status=EntryStatus.OPEN, at=NOW)
    assert find(order(charge(11, "ch_A1", also=[dispute]))).reason_code is ReasonCode.DISPUTE_OPEN


@pytest.mark.parametrize("age", [timedelta(minutes=15, microseconds=1), timedelta(minutes=-16)])
def test_a_stale_snapshot_and_one_from_the_future(age):
    assert outcome(find(duplicate_order(), taken_at=NOW - age)) == (
        INVESTIGATE,
        ReasonCode.STALE_SNAPSHOT,
        ("ch_A1", "ch_A2"),
    )


def test_a_stale_snapshot_cannot_rule_a_duplicate_out_either():
    found = find(order(charge(11, "ch_A1")), taken_at=NOW - timedelta(hours=1))
    assert (found.finding, found.reason_code) == (INVESTIGATE, ReasonCode.STALE_SNAPSHOT)


def test_a_snapshot_exactly_as_old_as_allowed_is_fresh():
    found = find(duplicate_order(), taken_at=NOW - timedelta(minutes=15))
    assert found.finding is Finding.VERIFIED_DUPLICATE_CHARGE


def test_three_captures():
    view = order(*duplicate_order().payments, charge(13, "ch_A3", at=NOW))
    assert outcome(find(view)) == (
        INVESTIGATE,
        ReasonCode.THREE_OR_MORE_CAPTURES,
        ("ch_A1", "ch_A2", "ch_A3"),
    )


def test_a_second_charge_that_is_still_pending():
    pending = payment(12, entry("ch_A2", status=EntryStatus.PENDING, at=SECOND))
    assert outcome(find(order(charge(11, "ch_A1"), pending))) == (
        INVESTIGATE,
        ReasonCode.CAPTURE_PENDING,
        ("ch_A1", "ch_A2"),
    )


def test_a_third_charge_that_is_still_pending_blocks_a_pair():
    pending = payment(13, entry("ch_A3", status=EntryStatus.PENDING, at=NOW))
    found = find(order(*duplicate_order().payments, pending))
    assert (found.finding, found.reason_code) == (INVESTIGATE, ReasonCode.CAPTURE_PENDING)


def test_one_pending_charge_alone_is_no_completed_capture():
    found = find(order(payment(12, entry("ch_A2", status=EntryStatus.PENDING))))
    assert outcome(found) == (NO_DUPLICATE, ReasonCode.NO_COMPLETED_CAPTURE, ("ch_A2",))


@pytest.mark.failure("F049")
def test_an_order_shown_in_another_currency_than_its_charges():
    pair = [charge(n, f"ch_{n}", 9_863_300, currency="INR", at=at) for n, at in ((11, FIRST), (12, SECOND))]
    for payments in (pair, pair[:1]):
        found = find(order(*payments, total=100_000, currency="GBP"))
        assert (found.finding, found.reason_code) == (INVESTIGATE, ReasonCode.ORDER_CURRENCY_DISAGREES)
    reverse = [charge(n, f"ch_{n}", 100_000, currency="GBP", at=at) for n, at in ((11, FIRST), (12, SECOND))]
    found = find(order(*reverse, total=100_000, currency="INR"))
    assert (found.finding, found.reason_code) == (INVESTIGATE, ReasonCode.ORDER_CURRENCY_DISAGREES)


@pytest.mark.parametrize("busy", [11, 12])
def test_an_open_operation_on_either_capture(busy):
    found = find(duplicate_order(), open_operation_payment_ids=frozenset({busy, 77}))
    assert outcome(found) == (INVESTIGATE, ReasonCode.OPEN_OPERATION, (f"ch_A{busy - 10}",))


def test_an_open_operation_elsewhere_changes_nothing():
    found = find(duplicate_order(), open_operation_payment_ids=frozenset({77}))
    assert found.finding is Finding.VERIFIED_DUPLICATE_CHARGE


def test_a_refund_that_is_still_pending():
    back = entry("re_1", kind=REFUND, status=EntryStatus.PENDING, at=NOW)
    assert outcome(find(order(charge(11, "ch_A1"), charge(12, "ch_A2", at=SECOND, also=[back])))) == (
        INVESTIGATE,
        ReasonCode.REFUND_PENDING,
        ("ch_A1", "ch_A2", "re_1"),
    )


@pytest.mark.parametrize(("amount", "status"), [(4999, EntryStatus.PENDING), (1000, EntryStatus.SUCCEEDED)])
def test_a_reversal_that_is_pending_or_partial(amount, status):
    back = entry("rv_1", amount, kind=REVERSAL, status=status, at=NOW)
    found = find(order(charge(11, "ch_A1"), charge(12, "ch_A2", at=SECOND, also=[back])))
    assert (found.finding, found.reason_code) == (INVESTIGATE, ReasonCode.REVERSAL_INCOMPLETE)


def test_split_tender():
    view = order(charge(11, "ch_A1", 3000), charge(12, "ch_A2", 1999, at=SECOND))
    assert outcome(find(view)) == (INVESTIGATE, ReasonCode.SPLIT_TENDER, ("ch_A1", "ch_A2"))


@pytest.mark.parametrize(
    ("second", "code"),
    [
        (5000, ReasonCode.AMOUNT_DRIFT),
        (4500, ReasonCode.AMOUNT_DRIFT),
        (4499, ReasonCode.DIFFERENT_AMOUNTS),
        (1, ReasonCode.DIFFERENT_AMOUNTS),
    ],
)
def test_amounts_that_differ(second, code):
    view = order(charge(11, "ch_A1"), charge(12, "ch_A2", second, at=SECOND))
    assert outcome(find(view)) == (INVESTIGATE, code, ("ch_A1", "ch_A2"))


def test_a_total_that_equals_the_smaller_of_two_amounts_is_no_proof():
    view = order(charge(11, "ch_A1", 5000), charge(12, "ch_A2", 4999, at=SECOND))
    assert find(view).reason_code is ReasonCode.AMOUNT_DRIFT


@pytest.mark.parametrize("unknown", [{"total_minor_units": None}, {"currency": None}, {"currency": ""}])
def test_an_unknown_order_total_or_its_currency(unknown):
    assert outcome(find(duplicate_order(**unknown))) == (
        INVESTIGATE,
        ReasonCode.UNKNOWN_ORDER_TOTAL,
        ("ch_A1", "ch_A2"),
    )


@pytest.mark.parametrize("total", [0, 1, 4998, 5000, 9997])
def test_an_order_total_that_explains_neither_one_nor_both(total):
    found = find(duplicate_order(total_minor_units=total))
    assert (found.finding, found.reason_code) == (INVESTIGATE, ReasonCode.TOTAL_DISAGREES)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ({"fingerprint": "fp_A"}, {"fingerprint": "fp_A"}, True),
        ({"fingerprint": "fp_A", "last4": "4242"}, {"fingerprint": "fp_A", "last4": "1881"}, True),
        ({"fingerprint": "fp_A"}, {"fingerprint": "fp_B"}, False),
        ({"fingerprint": None}, {"fingerprint": "fp_B"}, True),
        ({"fingerprint": "fp_A"}, {"fingerprint": ""}, True),
        ({"fingerprint": None}, {"fingerprint": None}, True),
        ({"fingerprint": None, "last4": ""}, {"fingerprint": None, "last4": "4242"}, True),
        ({"fingerprint": None, "last4": "4242"}, {"fingerprint": None, "last4": "1881"}, False),
        ({"fingerprint": None, "method_type": "card"}, {"fingerprint": None, "method_type": "paypal"}, False),
    ],
)
def test_payment_methods(first, second, same):
    found = find(order(charge(11, "ch_A1", **first), charge(12, "ch_A2", at=SECOND, **second)))
    if same:
        assert found.finding is Finding.VERIFIED_DUPLICATE_CHARGE
    else:
        assert outcome(found) == (INVESTIGATE, ReasonCode.DIFFERENT_PAYMENT_METHODS, ("ch_A1", "ch_A2"))


@pytest.mark.parametrize(
    ("first", "second", "inside"),
    [
        (SECOND - timedelta(hours=72), SECOND, True),
        (SECOND - timedelta(hours=72, microseconds=1), SECOND, False),
        (SECOND + timedelta(hours=1), SECOND, True),
        (NOW, NOW, True),
        (NOW, NOW + timedelta(microseconds=1), False),
        (NOW - timedelta(days=400), NOW - timedelta(days=401), True),
    ],
)
def test_both_captures_must_lie_inside_one_window(first, second, inside):
    found = find(order(charge(11, "ch_A1", at=first), charge(12, "ch_A2", at=second)))
    expected = ReasonCode.TWO_CAPTURES_OF_ONE_PURCHASE if inside else ReasonCode.OUTSIDE_WINDOW
    assert found.reason_code is expected
    assert found.finding is (Finding.VERIFIED_DUPLICATE_CHARGE if inside else INVESTIGATE)


@pytest.mark.failure("F052")
def test_two_captures_of_one_payment_are_not_two_charges():
    view = order(payment(11, entry("cap_1"), entry("cap_2", at=SECOND), reference="pi_1"))
    assert outcome(find(view)) == (INVESTIGATE, ReasonCode.CAPTURES_OF_ONE_PAYMENT, ("cap_1", "cap_2"))


@pytest.mark.parametrize(
    ("payments", "references"),
    [
        ((charge(11, "ch_A1"), charge(11, "ch_A2", at=SECOND)), ("ch_A1", "ch_A2")),
        ((charge(11, "ch_A1"), charge(12, "ch_A1")), ("ch_A1",)),
        ((charge(11, "ch_A1"), charge(11, "ch_A1", 5000)), ("ch_A1",)),
        ((charge(11, "ch_A1"), charge(12, "ch_A2", -4999, at=SECOND)), ("ch_A2",)),
        ((charge(11, "ch_A1", also=[entry("re_1", 1, kind=REFUND, currency="EUR")]),), ("ch_A1",)),
        ((payment(11, entry("ch_A1", status=EntryStatus.WON)),), ("ch_A1",)),
        (
            (
                charge(11, "ch_A1", also=[entry("re_1", 1, kind=REFUND)]),
                charge(12, "ch_A2", also=[entry("re_1", 1, kind=REFUND)]),
            ),
            ("re_1",),
        ),
    ],
    ids=["one-id", "two-ids", "two-amounts", "negative", "refund-currency", "status", "shared-refund"],
)
def test_rows_that_contradict_each_other(payments, references):
    assert outcome(find(order(*payments))) == (INVESTIGATE, ReasonCode.CONFLICTING_ROWS, references)


def test_the_same_charge_id_of_two_provider_accounts_is_two_charges():
    found = find(
        order(charge(11, "ch_A1", account="acct_1"), charge(12, "ch_A1", account="acct_2", at=SECOND))
    )
    assert (found.finding, found.refund_payment_id) == (Finding.VERIFIED_DUPLICATE_CHARGE, 12)


def test_every_reason_code_belongs_to_one_finding():
    harmless = {code for code in ReasonCode if not code.needs_investigation}
    assert harmless == {
        ReasonCode.TWO_CAPTURES_OF_ONE_PURCHASE,
        ReasonCode.NO_COMPLETED_CAPTURE,
        ReasonCode.SINGLE_CHARGE,
        ReasonCode.AUTHORISATION_HOLD,
        ReasonCode.HOLD_RELEASED,
        ReasonCode.CHARGE_AND_REVERSAL,
        ReasonCode.REPEATED_DISPLAY_EVENT,
        ReasonCode.TWO_ORDERS,
        ReasonCode.TOTAL_COVERS_BOTH,
        ReasonCode.DIFFERENT_CURRENCIES,
        ReasonCode.ALREADY_REFUNDED,
        ReasonCode.EARLIER_PARTIAL_REFUND,
    }


def test_the_listing_order_of_a_source_does_not_matter():
    view = duplicate_order()
    assert find(replace(view, payments=view.payments[::-1])) == find(view)
