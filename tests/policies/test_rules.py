from datetime import timedelta

import pytest

from policies.rules import PolicyRulesError, parse_rules
from tests.factories import POLICY_RULES


def test_a_document_becomes_typed_numbers():
    rules = parse_rules(POLICY_RULES)
    assert rules.auto_limit_minor_units == {"USD": 10_000, "EUR": 10_000, "JPY": 10_000, "KWD": 30_000}
    assert (rules.duplicate_window, rules.max_age_days) == (timedelta(hours=72), 90)
    assert (rules.snapshot_max_age, rules.approval_valid) == (timedelta(minutes=15), timedelta(hours=24))


def test_what_a_document_leaves_open_has_a_stated_meaning():
    rules = parse_rules(POLICY_RULES)
    assert (rules.automatic_without_model, rules.closes_on_gateway_rejection) == (True, False)
    assert rules.review_within_business_days is None
    chosen = {
        "automatic_without_model": False,
        "closes_on_gateway_rejection": True,
        "review_within_business_days": 2,
    }
    rules = parse_rules(POLICY_RULES | chosen)
    assert (rules.automatic_without_model, rules.closes_on_gateway_rejection) == (False, True)
    assert rules.review_within_business_days == 2


@pytest.mark.parametrize("name", sorted(POLICY_RULES))
def test_every_number_is_required(name):
    with pytest.raises(PolicyRulesError, match=name):
        parse_rules({key: value for key, value in POLICY_RULES.items() if key != name})


@pytest.mark.parametrize(
    "defect",
    [
        {"max_age_days": "90"},
        {"max_age_days": 90.5},
        {"max_age_days": 0},
        {"duplicate_window_hours": -1},
        {"snapshot_max_age_seconds": 0},
        {"approval_valid_hours": None},
        {"auto_limit_minor_units": 100},
        {"auto_limit_minor_units": {"USD": "100"}},
        {"auto_limit_minor_units": {"USD": -1}},
        {"auto_limit_minor_units": {"usd": 100}},
        {"two_people_above_minor_units": {"USDT": 100}},
        {"automatic_without_model": "yes"},
        {"max_amount": 100},
        {"time_zone": ""},
        {"time_zone": "Mars/Olympus_Mons"},
        {"time_zone": "America"},
        {"time_zone": "../UTC"},
        {"time_zone": 3600},
    ],
    ids=str,
)
def test_a_document_of_another_shape_decides_nothing(defect):
    with pytest.raises(PolicyRulesError):
        parse_rules(POLICY_RULES | defect)


@pytest.mark.parametrize("document", [None, [], "rules", 7, {}])
def test_what_is_no_document_decides_nothing(document):
    with pytest.raises(PolicyRulesError):
        parse_rules(document)


def test_a_currency_without_a_limit_is_never_automatic():
    rules = parse_rules(POLICY_RULES | {"auto_limit_minor_units": {"USD": 0}})
    assert (rules.auto_limit("USD"), rules.auto_limit("EUR"), rules.auto_limit("")) == (0, None, None)


@pytest.mark.parametrize(
    ("amount", "currency", "people"), [(50_000, "USD", 1), (50_001, "USD", 2), (1, "CHF", 2)]
)
def test_above_the_limit_and_without_one_two_people_are_needed(amount, currency, people):
    assert parse_rules(POLICY_RULES).approvals_needed(amount, currency) == people
