"""Properties of the duplicate rule, restated from the design's section 6 and not from the code."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.duplicates import DuplicateFinding, Finding, ReasonCode
from ledger.snapshot import EntryKind, EntryStatus, EntryView, OrderView, PaymentView, SiblingOrderView
from tests.ledger.views import NOW, charge, entry, find, order, payment

DUPLICATE = Finding.VERIFIED_DUPLICATE_CHARGE
MAX_AGE = timedelta(minutes=15)
WINDOW = timedelta(hours=72)

few_amounts = st.sampled_from([1, 2500, 4999, 5000, 9998, 2**31 + 1])
any_amount = st.one_of(few_amounts, st.integers(-5, 2**63 - 1))
currencies = st.sampled_from(["USD", "EUR", "JPY"])
references = st.sampled_from([f"ref_{n}" for n in range(6)])
times = st.sampled_from([timedelta(0), timedelta(seconds=40), timedelta(days=2), timedelta(days=91)]).map(
    lambda ago: NOW - ago
)
entries = st.builds(
    EntryView,
    kind=st.sampled_from(EntryKind),
    processor_reference=references,
    amount_minor_units=any_amount,
    currency=currencies,
    status=st.sampled_from(EntryStatus),
    occurred_at=times,
    seen_count=st.integers(1, 3),
)
payments = st.builds(
    PaymentView,
    payment_id=st.integers(1, 4),
    processor_reference=references,
    account=st.sampled_from(["", "acct_1"]),
    method_type=st.sampled_from(["card", "paypal"]),
    method_fingerprint=st.sampled_from([None, "", "fp_A", "fp_B"]),
    method_last4=st.sampled_from(["", "4242", "1881"]),
    created_at=times,
    entries=st.lists(entries, max_size=4).map(tuple),
)
siblings = st.builds(
    SiblingOrderView, number=references, placed_at=times, captures=st.lists(entries, max_size=2).map(tuple)
)
wild_orders = st.builds(
    OrderView,
    order_id=st.just(1),
    number=st.just("2841"),
    merchant_id=st.just(1),
    customer_id=st.just(1),
    status=st.just("PLACED"),
    total_minor_units=st.one_of(st.none(), few_amounts, st.integers(0, 2**62)),
    currency=st.one_of(st.none(), st.just(""), currencies),
    placed_at=times,
    payments=st.lists(payments, max_size=4).map(tuple),
    siblings=st.lists(siblings, max_size=2).map(tuple),
)


@st.composite
def near_duplicates(draw) -> OrderView:
    """Orders close to the line: mostly a pair of captures, each property sometimes off."""

    def mostly(usual, *others):
        return draw(st.sampled_from([usual] * 6 + list(others)))

    made = []
    for number in range(1, mostly(2, 1, 3) + 1):
        extra = [
            entry(
                f"x_{number}",
                draw(few_amounts),
                kind=draw(st.sampled_from(EntryKind)),
                status=draw(st.sampled_from(EntryStatus)),
            )
            for _ in range(mostly(0, 1))
        ]
        made.append(
            charge(
                number,
                f"ch_{number}",
                mostly(4999, 5000, 2500),
                currency=mostly("USD", "EUR"),
                at=draw(times),
                also=extra,
                fingerprint=mostly("fp_A", None, "fp_B"),
                last4=mostly("4242", "", "1881"),
            )
        )
    return order(*made, total=mostly(4999, 5000, 9998, 7499, None), currency=mostly("USD", "EUR", None))


@st.composite
def proven_pairs(draw) -> OrderView:
    amount, currency = draw(st.integers(1, 2**62)), draw(currencies)
    since = draw(st.timedeltas(timedelta(0), timedelta(days=900)))
    at = [since, max(timedelta(0), since + draw(st.timedeltas(-WINDOW, WINDOW)))]
    ids = draw(st.lists(st.integers(1, 2**63 - 1), min_size=2, max_size=2, unique=True))
    names = draw(st.lists(st.text("abcXYZ019_", min_size=1), min_size=2, max_size=2, unique=True))
    prints = draw(st.sampled_from([("fp", "fp"), (None, "fp"), ("fp", ""), (None, None)]))
    pair = [
        charge(key, name, amount, currency=currency, at=NOW - ago, fingerprint=mark)
        for key, name, ago, mark in zip(ids, names, at, prints, strict=True)
    ]
    failed = payment(0, entry("never", 7, status=EntryStatus.FAILED, currency=currency))
    return order(*pair, *draw(st.sampled_from([(), (failed,)])), total=amount, currency=currency)


orders = st.one_of(wild_orders, near_duplicates(), proven_pairs())
ages = st.sampled_from([timedelta(0), MAX_AGE, timedelta(minutes=16), timedelta(days=-1)])
open_ids = st.frozensets(st.integers(1, 4), max_size=1)


def ask(
    view: OrderView, age: timedelta = timedelta(0), busy: frozenset[int] = frozenset()
) -> DuplicateFinding:
    return find(
        view,
        taken_at=NOW - age,
        max_snapshot_age=MAX_AGE,
        window=WINDOW,
        open_operation_payment_ids=busy,
    )


def captured_rows(view: OrderView) -> dict[tuple[str, str], tuple[PaymentView, EntryView]]:
    return {
        (paid.account, row.processor_reference): (paid, row)
        for paid in view.payments
        for row in paid.entries
        if row.kind is EntryKind.CAPTURE and row.status is EntryStatus.SUCCEEDED
    }


@settings(max_examples=150, deadline=None)
@given(orders, ages, open_ids)
def test_every_order_has_exactly_one_finding(view, age, busy):
    found = ask(view, age, busy)
    assert isinstance(found.finding, Finding)
    assert isinstance(found.reason_code, ReasonCode)
    verified = found.finding is DUPLICATE
    assert verified == (found.reason_code is ReasonCode.TWO_CAPTURES_OF_ONE_PURCHASE)
    for value in (
        found.refund_payment_id,
        found.kept_payment_id,
        found.refund_reference,
        found.kept_reference,
        found.amount_minor_units,
        found.currency,
    ):
        assert (value is not None) == verified
    known = {row.processor_reference for paid in view.payments for row in paid.entries}
    known |= {paid.processor_reference for paid in view.payments}
    known |= {row.processor_reference for other in view.siblings for row in other.captures}
    assert set(found.evidence) <= known
    assert len(set(found.evidence)) == len(found.evidence)


@settings(max_examples=200, deadline=None)
@given(orders, ages, open_ids)
def test_verified_implies_every_clause(view, age, busy):
    found = ask(view, age, busy)
    if found.finding is not DUPLICATE:
        return
    captured = captured_rows(view)
    assert len(captured) == 2
    (first, one), (second, two) = captured.values()
    assert first.payment_id != second.payment_id
    assert one.amount_minor_units == two.amount_minor_units > 0
    assert one.currency == two.currency == view.currency
    if first.method_fingerprint and second.method_fingerprint:
        assert first.method_fingerprint == second.method_fingerprint
    assert max(one.occurred_at, two.occurred_at) <= NOW
    assert -WINDOW <= one.occurred_at - two.occurred_at <= WINDOW
    for paid in view.payments:
        for row in paid.entries:
            assert row.kind is not EntryKind.DISPUTE
            if row.kind in {EntryKind.REFUND, EntryKind.REVERSAL}:
                of_the_pair = paid.payment_id in {first.payment_id, second.payment_id}
                nothing_moved = row.status in {EntryStatus.FAILED, EntryStatus.CANCELED}
                assert nothing_moved or not of_the_pair
    assert not busy & {first.payment_id, second.payment_id}
    assert age <= MAX_AGE
    assert view.total_minor_units is not None
    net_captured = one.amount_minor_units + two.amount_minor_units
    assert net_captured - view.total_minor_units == one.amount_minor_units
    later = max(
        (first, one), (second, two), key=lambda pair: (pair[1].occurred_at, pair[0].processor_reference)
    )
    assert (found.refund_payment_id, found.refund_reference) == (
        later[0].payment_id,
        later[0].processor_reference,
    )
    assert {found.kept_payment_id, found.refund_payment_id} == {first.payment_id, second.payment_id}
    assert (found.amount_minor_units, found.currency) == (one.amount_minor_units, one.currency)
    assert set(found.evidence) == {one.processor_reference, two.processor_reference}


@settings(max_examples=60, deadline=None)
@given(proven_pairs())
def test_a_pair_that_meets_every_clause_is_verified(view):
    assert ask(view).finding is DUPLICATE


@settings(max_examples=100, deadline=None)
@given(orders, ages, open_ids, st.randoms(use_true_random=False))
def test_the_listing_order_changes_nothing(view, age, busy, random):
    def shuffled(rows):
        rows = list(rows)
        random.shuffle(rows)
        return tuple(rows)

    other = replace(
        view,
        payments=shuffled(replace(paid, entries=shuffled(paid.entries)) for paid in view.payments),
        siblings=shuffled(view.siblings),
    )
    assert ask(other, age, busy) == ask(view, age, busy)


@settings(max_examples=80, deadline=None)
@given(
    proven_pairs(),
    st.sampled_from([0, 1]),
    st.sampled_from([EntryKind.DISPUTE, EntryKind.REFUND, EntryKind.REVERSAL, EntryKind.CAPTURE]),
    st.sampled_from([EntryStatus.PENDING, EntryStatus.SUCCEEDED]),
    st.integers(1, 2**62),
)
def test_a_dispute_refund_reversal_or_another_capture_on_either_side_unproves(
    view, side, kind, status, amount
):
    touched = view.payments[side]
    extra = entry("extra", amount, kind=kind, status=status, currency=view.currency or "")
    changed = replace(touched, entries=(*touched.entries, extra))
    others = tuple(paid for paid in view.payments if paid is not touched)
    assert ask(replace(view, payments=(changed, *others))).finding is not DUPLICATE


@settings(max_examples=80, deadline=None)
@given(proven_pairs(), st.sampled_from([0, 1]), any_amount, currencies)
def test_a_third_payment_or_an_open_operation_unproves(view, side, amount, currency):
    third = charge(2**63, "third", amount, currency=currency, at=NOW)
    assert ask(replace(view, payments=(*view.payments, third))).finding is not DUPLICATE
    assert ask(view, busy=frozenset({view.payments[side].payment_id})).finding is not DUPLICATE


@settings(max_examples=80, deadline=None)
@given(proven_pairs(), st.one_of(st.none(), st.integers(0, 2**63)), currencies)
def test_another_total_or_currency_of_the_order_unproves(view, total, currency):
    if total != view.total_minor_units:
        assert ask(replace(view, total_minor_units=total)).finding is not DUPLICATE
    if currency != view.currency:
        assert ask(replace(view, currency=currency)).finding is not DUPLICATE


@settings(max_examples=80, deadline=None)
@given(
    proven_pairs(),
    st.sampled_from([0, 1]),
    st.timedeltas(timedelta(microseconds=1), timedelta(days=900)),
    st.booleans(),
)
def test_another_method_or_a_time_outside_the_window_unproves(view, side, beyond, ahead):
    touched = view.payments[side]
    others = tuple(paid for paid in view.payments if paid is not touched)
    (capture,) = touched.entries
    (kept,) = others[0].entries
    at = NOW + beyond if ahead else kept.occurred_at - WINDOW - beyond
    elsewhen = replace(touched, entries=(replace(capture, occurred_at=at),))
    assert ask(replace(view, payments=(elsewhen, *others))).finding is not DUPLICATE
    if others[0].method_fingerprint:
        by_another = replace(touched, method_fingerprint="another")
        assert ask(replace(view, payments=(by_another, *others))).finding is not DUPLICATE
