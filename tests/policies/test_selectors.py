from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from policies.selection import NoSinglePolicy, PolicyContext
from policies.selectors import get_applicable_policy
from tests.factories import NOW, make_merchant, make_policy

pytestmark = pytest.mark.django_db


@pytest.fixture
def merchant():
    return make_merchant()


def applicable(merchant, *, at=NOW, **attributes):
    facts = {
        "merchant_id": merchant.pk,
        "region": "US",
        "product_type": "GOODS",
        "payment_method": "card",
        "reason": "DUPLICATE_CHARGE",
    } | attributes
    return get_applicable_policy(PolicyContext(**facts), at=at)


def test_a_stored_version_is_found_in_one_query(merchant, django_assert_num_queries):
    for number in range(5):
        make_policy(merchant=merchant, reason="OTHER" if number else "DUPLICATE_CHARGE")
    with django_assert_num_queries(1):
        found = applicable(merchant)
    assert (found.reason, found.merchant_id) == ("DUPLICATE_CHARGE", merchant.pk)


def test_versions_of_another_merchant_or_reason_do_not_apply(merchant):
    make_policy(merchant=make_merchant())
    make_policy(merchant=merchant, reason="LATE_DELIVERY")
    assert applicable(merchant) == NoSinglePolicy("POLICY_MISSING", ())


@pytest.mark.failure("F117")
def test_two_stored_versions_of_one_moment_are_both_named(merchant):
    versions = [make_policy(merchant=merchant), make_policy(merchant=merchant, region="US")]
    assert applicable(merchant) == NoSinglePolicy("POLICY_OVERLAP", tuple(v.pk for v in versions))
    assert applicable(merchant, region="EU") == versions[0]


@pytest.mark.failure("F114")
@pytest.mark.parametrize(("seconds", "version"), [(-1, 1), (0, 2), (1, 2)])
def test_a_change_of_versions_has_no_second_without_one_and_none_with_two(merchant, seconds, version):
    make_policy(merchant=merchant, version=1, effective_to=NOW)
    make_policy(merchant=merchant, version=2, effective_from=NOW)
    assert applicable(merchant, at=NOW + timedelta(seconds=seconds)).version == version


@pytest.mark.parametrize("length", [timedelta(0), timedelta(seconds=-1)])
def test_a_period_that_ends_before_it_begins_is_not_stored(merchant, length):
    with pytest.raises(IntegrityError, match="policy_period_forward"), transaction.atomic():
        make_policy(merchant=merchant, effective_from=NOW, effective_to=NOW + length)


def test_a_version_number_is_taken_once(merchant):
    make_policy(merchant=merchant, version=7)
    with pytest.raises(IntegrityError, match="policy_version_once"), transaction.atomic():
        make_policy(merchant=merchant, version=7)
