"""The rule over three books: equal books give nothing, and each way of differing gives its own kind."""

import random
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.settlements.rows import SettlementCategory, SettlementReport
from refunds.evidence.three_books.differences import find_differences
from refunds.evidence.three_books.facts import Standing
from refunds.gateways.port import ProviderStatus
from refunds.states import DifferenceKind
from tests.settlements.books import UNTIL, books, line, ours, theirs

_K = DifferenceKind
AMOUNTS = st.lists(st.integers(1, 10_000), min_size=1, max_size=5)


def kinds(found):
    return {d.kind for d in find_differences(found)}


@given(amounts=AMOUNTS, seed=st.integers(0, 2**32), with_payouts=st.booleans())
def test_equal_books_in_any_order_differ_in_nothing(amounts, seed, with_payouts):
    agreeing = books(amounts)
    lines = list(agreeing.settled)
    if with_payouts:
        lines += [replace(each, report=SettlementReport.PAYOUT) for each in lines]
    shuffled = [list(agreeing.ours), list(agreeing.theirs), lines]
    for rows in shuffled:
        random.Random(seed).shuffle(rows)
    own, listed, settled = map(tuple, shuffled)
    assert find_differences(replace(agreeing, ours=own, theirs=listed, settled=settled)) == ()


LAST = {
    "no line in the reports": (lambda b: replace(b, settled=b.settled[:-1]), {_K.MISSING_IN_SETTLEMENT}),
    "not in the provider's list": (lambda b: replace(b, theirs=b.theirs[:-1]), {_K.MISSING_AT_PROVIDER}),
    "not ours": (lambda b: replace(b, ours=b.ours[:-1]), {_K.MISSING_OURS, _K.UNKNOWN_OPERATION_ID}),
    "settled for more": (
        lambda b: replace(b, settled=(*b.settled[:-1], _more(b.settled[-1]))),
        {_K.AMOUNT_DIFFERS},
    ),
    "listed for more": (
        lambda b: replace(b, theirs=(*b.theirs[:-1], _more(b.theirs[-1]))),
        {_K.AMOUNT_DIFFERS},
    ),
    "our own entry for more": (
        lambda b: replace(b, ours=(*b.ours[:-1], replace(b.ours[-1], entry_amount_minor_units=99_999))),
        {_K.AMOUNT_DIFFERS},
    ),
    "settled in another currency": (
        lambda b: replace(b, settled=(*b.settled[:-1], replace(b.settled[-1], currency="EUR"))),
        {_K.CURRENCY_DIFFERS},
    ),
    "failed at the provider": (
        lambda b: replace(b, theirs=(*b.theirs[:-1], replace(b.theirs[-1], status=ProviderStatus.FAILED))),
        {_K.STATUS_DIFFERS},
    ),
    "failed with us": (
        lambda b: replace(b, ours=(*b.ours[:-1], replace(b.ours[-1], standing=Standing.GONE))),
        {_K.FAILED_BUT_SETTLED, _K.STATUS_DIFFERS},
    ),
    "in doubt with us": (
        lambda b: replace(b, ours=(*b.ours[:-1], replace(b.ours[-1], standing=Standing.UNKNOWN))),
        {_K.STATUS_DIFFERS},
    ),
    "came back by the reports": (
        lambda b: replace(b, settled=(*b.settled, _returned(b.settled[-1]))),
        {_K.COMPLETED_BUT_RETURNED},
    ),
    "settled twice under our id": (
        lambda b: replace(
            b, settled=(*b.settled, replace(b.settled[-1], row_reference="t", processor_reference="re_twice"))
        ),
        {_K.DUPLICATE_FOR_OPERATION},
    ),
    "listed twice under our id": (
        lambda b: replace(b, theirs=(*b.theirs, replace(b.theirs[-1], processor_reference="re_twice"))),
        {_K.DUPLICATE_FOR_OPERATION},
    ),
    "two reports tell it differently": (
        lambda b: replace(
            b, settled=(*b.settled, replace(_more(b.settled[-1]), report=SettlementReport.PAYOUT))
        ),
        {_K.REPORTS_DISAGREE},
    ),
    "under the id of another operation": (
        lambda b: replace(b, theirs=(*b.theirs[:-1], replace(b.theirs[-1], operation_id="rfop_foreign"))),
        {_K.UNKNOWN_OPERATION_ID},
    ),
    "a dispute that we do not know": (
        lambda b: replace(b, settled=(*b.settled, _dispute())),
        {_K.DISPUTE_MISSING_OURS},
    ),
}


def _more(row):
    return replace(row, amount_minor_units=row.amount_minor_units + 1)


def _returned(row):
    return replace(
        row,
        row_reference="txn_back",
        category=SettlementCategory.REFUND_FAILURE,
        amount_minor_units=-row.amount_minor_units,
    )


def _dispute(amount=4999, category=SettlementCategory.DISPUTE):
    return line(
        99, amount, category=category, processor_reference="dp_1", operation_id="", row_reference=category
    )


@pytest.mark.failure("F050")
@pytest.mark.parametrize("name", LAST)
@given(amounts=AMOUNTS)
def test_one_change_gives_exactly_its_kinds(name, amounts):
    change, expected = LAST[name]
    found = find_differences(change(books(amounts)))
    assert {d.kind for d in found} == expected
    assert len(found) == len(expected)


def test_every_kind_can_be_found():
    assert set().union(*(expected for _, expected in LAST.values())) == set(DifferenceKind)


ALLOWED = {
    "what is not covered by reports yet": lambda b: replace(b, settled=(), settled_until=None),
    "what happened after the reports end": lambda b: replace(
        b, settled=(), settled_until=b.ours[0].happened_at - timedelta(seconds=1)
    ),
    "what happened before the reports begin": lambda b: replace(
        b, settled=(), settled_since=b.ours[0].happened_at + timedelta(seconds=1)
    ),
    "a provider that was not asked": lambda b: replace(b, theirs=None),
    "what is younger than the comparison": lambda b: replace(
        b, ours=(ours(changed_at=UNTIL),), settled=(), theirs=(theirs(status=ProviderStatus.FAILED),)
    ),
    "a refund of the dashboard of today": lambda b: replace(
        b, theirs=(*b.theirs, theirs(7, operation_id="", created_at=UNTIL))
    ),
    "a line of today": lambda b: replace(b, settled=(*b.settled, line(7, operation_id="", booked_at=UNTIL))),
    "a partial capture, which is no refund": lambda b: replace(
        b, settled=(*b.settled, line(7, category=SettlementCategory.PARTIAL_CAPTURE_REVERSAL))
    ),
    "a pending refund that is settled": lambda b: replace(
        b,
        ours=(ours(standing=Standing.PENDING),),
        theirs=(theirs(status=ProviderStatus.PENDING),),
    ),
    "a refund that failed in every book": lambda b: replace(
        b,
        ours=(ours(standing=Standing.GONE),),
        theirs=(theirs(status=ProviderStatus.FAILED),),
        settled=(line(), _returned(line())),
    ),
    "one that failed and never was settled": lambda b: replace(
        b, ours=(ours(standing=Standing.GONE),), theirs=(theirs(status=ProviderStatus.CANCELED),), settled=()
    ),
    "one that nobody else knows and we are in doubt about": lambda b: replace(
        b, ours=(ours(standing=Standing.UNKNOWN, processor_reference=""),), theirs=(), settled=()
    ),
    "a dispute that is known": lambda b: replace(
        b, settled=(*b.settled, _dispute()), dispute_known=True
    ),
    "a dispute that was won": lambda b: replace(
        b, settled=(*b.settled, _dispute(), _dispute(-4999, SettlementCategory.DISPUTE_REVERSAL))
    ),
    "refunds that a source counted without naming them": lambda b: replace(
        b, ours=(ours(operation_id="", processor_reference="ch_1#refunded:4999", named=False),),
        theirs=tuple(replace(t, operation_id="") for t in b.theirs),
        settled=tuple(replace(s, operation_id="") for s in b.settled),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_no_difference(name):
    assert kinds(ALLOWED[name](books())) == set()


def test_more_than_what_a_source_counted_without_names_is_missing():
    counted = ours(operation_id="", processor_reference="ch_1#refunded:4998", amount=4998, named=False)
    unnamed = replace(theirs(), operation_id="")
    assert kinds(books(ours=(counted,), theirs=(unnamed,), settled=())) == {_K.MISSING_OURS}


def test_a_lost_answer_is_proven_by_the_report_that_names_our_operation():
    in_doubt = ours(standing=Standing.UNKNOWN, processor_reference="", entry_amount_minor_units=None)
    (found,) = find_differences(books(ours=(in_doubt,), theirs=None))
    assert (found.kind, found.operation_id, found.processor_reference) == (
        _K.STATUS_DIFFERS,
        "rfop_1",
        "re_1",
    )
    assert found.facts["settlement"]["out_minor_units"] == 4999


@given(amounts=AMOUNTS)
def test_the_facts_of_a_difference_are_the_same_every_night(amounts):
    changed = LAST["settled for more"][0](books(amounts))
    tonight, tomorrow = (
        find_differences(replace(changed, until=until, settled_until=until))
        for until in (UNTIL, UNTIL + timedelta(days=1))
    )
    assert [d.facts for d in tonight] == [d.facts for d in tomorrow]
