from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.selection import NoSinglePolicy, PolicyContext, VersionView, select_version

NOW = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)
CONTEXT = PolicyContext(
    merchant_id=1, region="US", product_type="GOODS", payment_method="card", reason="DUPLICATE_CHARGE"
)


def version(number=1, *, since=-60, until=None, region="", product_type="", payment_method=""):
    """Return a version that is in force from ``since`` until before ``until`` seconds from NOW."""
    return VersionView(
        id=number,
        region=region,
        product_type=product_type,
        payment_method=payment_method,
        effective_from=NOW + timedelta(seconds=since),
        effective_to=None if until is None else NOW + timedelta(seconds=until),
    )


def select(*versions, seconds=0, context=CONTEXT):
    return select_version(versions, context, at=NOW + timedelta(seconds=seconds))


@pytest.mark.failure("F114")
@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [(-11, None), (-10, 1), (-9, 1), (-1, 1), (0, 2), (1, 2), (9, 2), (10, None), (11, None)],
)
def test_a_period_holds_its_first_second_and_not_its_last(seconds, chosen):
    found = select(version(1, since=-10, until=0), version(2, since=0, until=10), seconds=seconds)
    if chosen is None:
        assert found == NoSinglePolicy("POLICY_MISSING", ())
    else:
        assert found.id == chosen


@pytest.mark.failure("F117")
def test_a_gap_has_no_policy_and_an_overlap_has_none_that_wins():
    before, after = version(1, since=-20, until=-10), version(2, since=10)
    assert select(before, after) == NoSinglePolicy("POLICY_MISSING", ())
    assert select(version(2), version(1, region="US")) == NoSinglePolicy("POLICY_OVERLAP", (1, 2))
    assert select() == NoSinglePolicy("POLICY_MISSING", ())


@pytest.mark.parametrize(
    ("attributes", "applies"),
    [
        ({}, True),
        ({"region": "US"}, True),
        ({"region": "EU"}, False),
        ({"region": "us"}, False),
        ({"product_type": "GOODS", "payment_method": "card"}, True),
        ({"product_type": "GOODS", "payment_method": "sepa_debit"}, False),
        ({"product_type": "SERVICE", "payment_method": "card"}, False),
    ],
)
def test_an_attribute_that_a_version_names_must_be_the_cases_own(attributes, applies):
    assert isinstance(select(version(**attributes)), VersionView) is applies


def test_a_case_without_an_attribute_is_met_only_by_versions_that_do_not_name_it():
    unknown = PolicyContext(
        merchant_id=1, region="US", product_type="GOODS", payment_method="", reason="DUPLICATE_CHARGE"
    )
    assert select(version(1), version(2, payment_method="card"), context=unknown).id == 1


FOREVER = 100
attribute = st.sampled_from(["", "A", "B"])
patterns = st.tuples(attribute, attribute, attribute)  # region, product type, payment method
seconds_from_now = st.integers(min_value=-3, max_value=3)
lengths = st.none() | st.integers(min_value=1, max_value=4)
rows = st.lists(
    st.tuples(st.integers(min_value=1, max_value=99), seconds_from_now, lengths, patterns), max_size=6
)


def views(drawn):
    return [
        version(
            number,
            since=since,
            until=None if length is None else since + length,
            region=region,
            product_type=product_type,
            payment_method=payment_method,
        )
        for number, since, length, (region, product_type, payment_method) in drawn
    ]


def case_of(pattern):
    region, product_type, payment_method = pattern
    return PolicyContext(
        merchant_id=1,
        region=region,
        product_type=product_type,
        payment_method=payment_method,
        reason="DUPLICATE_CHARGE",
    )


def restated(drawn, case, second):
    """Count on one's fingers: whose range of seconds holds this one, and whose named attributes are the case's."""
    return sorted(
        number
        for number, since, length, pattern in drawn
        if second in range(since, since + (length or FOREVER))
        and all(named == own for named, own in zip(pattern, case, strict=True) if named)
    )


@given(rows, patterns, seconds_from_now)
def test_selection_agrees_with_an_independent_restatement(drawn, case, second):
    found = select(*views(drawn), seconds=second, context=case_of(case))
    expected = restated(drawn, case, second)
    if len(expected) == 1:
        assert isinstance(found, VersionView)
        assert found.id == expected[0]
    else:
        code = "POLICY_OVERLAP" if expected else "POLICY_MISSING"
        assert found == NoSinglePolicy(code, tuple(expected))


@given(rows, patterns, seconds_from_now, st.randoms())
def test_the_order_of_the_versions_decides_nothing(drawn, case, second, random):
    stored = views(drawn)
    shuffled = random.sample(stored, len(stored))
    asked = {"seconds": second, "context": case_of(case)}
    assert select(*stored, **asked) == select(*shuffled, **asked)
