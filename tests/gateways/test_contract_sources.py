"""Every value of every contract says where it comes from, and the documentation says the same."""

import json
import re
from dataclasses import fields, is_dataclass, replace
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError, call_command

from refunds.gateways.contract import STRIPE_V1, with_overrides
from refunds.gateways.contracts.adyen_v72 import ADYEN_V72
from refunds.gateways.contracts.braintree import BRAINTREE
from refunds.gateways.contracts.knowing import LookupSurface
from refunds.gateways.contracts.paypal_v2 import PAYPAL_V2
from refunds.gateways.contracts.record import ProviderContract
from refunds.gateways.contracts.stated import OPERATOR, Confidence, Stated, documented
from refunds.gateways.contracts.table import markdown_table, shown
from refunds.gateways.contracts.terms import AfterExpiry, Cached, Compared, Consistency, Ordering
from refunds.gateways.registry import get_contract
from refunds.gateways.stripe_answers import ANSWER_TABLE
from refunds.gateways.stripe_commands import OPERATION_ID_KEY
from refunds.gateways.stripe_events import TOLERANCE, Subject, subject_of

CONTRACTS = {contract.provider: contract for contract in (STRIPE_V1, ADYEN_V72, PAYPAL_V2, BRAINTREE)}
PAGES = {
    "stripe": ("docs.stripe.com", "github.com/stripe/"),
    "adyen": ("docs.adyen.com", "github.com/Adyen/"),
    "paypal": ("developer.paypal.com", "github.com/paypal/"),
    "braintree": ("developer.paypal.com/braintree", "github.com/braintree/"),
}
EMPTY = (
    None, False, frozenset(), AfterExpiry.UNKNOWN, Cached.UNKNOWN, Compared.UNKNOWN, Consistency.UNKNOWN,
    Ordering.UNKNOWN,
)  # fmt: skip
VERDICTS = (Path(__file__).resolve().parents[2] / "docs/verdicts.md").read_text()
DOCUMENTATION = (Path(__file__).resolve().parents[2] / "docs/provider-contract.md").read_text()
every_contract = pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)


NAMES = {(ProviderContract, "provider"), (LookupSurface, "name")}  # what a thing is called needs no source


def unsourced(thing, path=""):
    """Return the paths of plain values: whatever is neither stated with a source nor a group of such values."""
    if isinstance(thing, Stated):
        return [] if thing.source and thing.confidence in set(Confidence) else [path]
    if is_dataclass(thing):
        parts = [part.name for part in fields(thing) if (type(thing), part.name) not in NAMES]
        return [at for name in parts for at in unsourced(getattr(thing, name), f"{path}.{name}")]
    if isinstance(thing, tuple) and thing:
        return [at for number, part in enumerate(thing) for at in unsourced(part, f"{path}[{number}]")]
    return [path]


@every_contract
def test_every_value_has_a_source(contract):
    assert unsourced(contract) == []
    assert sum(1 for _ in contract.statements()) >= 85


def test_a_value_without_a_source_is_found_and_one_cannot_be_made():
    planted = replace(STRIPE_V1, key=replace(STRIPE_V1.key, max_length=255))
    assert unsourced(planted) == [".key.max_length"]
    planted = replace(STRIPE_V1, limits=replace(STRIPE_V1.limits, read_budget=documented(1, "")))
    assert unsourced(planted) == [".limits.read_budget"]
    planted = replace(STRIPE_V1, key=replace(STRIPE_V1.key, name="Idempotency-Key"))
    assert unsourced(planted) == [".key.name"]
    with pytest.raises(TypeError):
        Stated(1, Confidence.DOCUMENTED)


@every_contract
def test_a_source_is_a_page_of_the_provider_or_the_operator_with_a_reason(contract):
    for path, stated in contract.statements():
        if stated.source == OPERATOR:
            assert len(stated.note) > 10, path
            assert stated.confidence in {Confidence.INFERRED, Confidence.UNDOCUMENTED}, path
            continue
        address = urlsplit(stated.source)
        assert address.scheme == "https", path
        assert f"{address.netloc}{address.path}".startswith(PAGES[contract.provider]), (path, stated.source)


@every_contract
def test_what_is_not_documented_is_empty_or_decided_by_the_operator(contract):
    for path, stated in contract.statements():
        if stated.confidence is Confidence.UNDOCUMENTED and stated.source != OPERATOR:
            assert stated.value in EMPTY or not stated.value or "taken as possible" in stated.note, path
        if stated.confidence is Confidence.INFERRED:
            assert stated.note, path


@every_contract
def test_what_nothing_states_never_proves_absence(contract):
    for surface in contract.lookups:
        if surface.proves_absence.value:
            assert surface.proves_absence.confidence in {Confidence.DOCUMENTED, Confidence.INFERRED}
    assert contract.absence.possible.confidence in {Confidence.DOCUMENTED, Confidence.INFERRED}
    assert contract.absence.possible.value is any(s.proves_absence.value for s in contract.lookups)


@every_contract
def test_the_documentation_holds_the_record_as_it_is(contract):
    begin, end = f"<!-- record: {contract.provider} -->\n", f"\n<!-- end: {contract.provider} -->"
    assert markdown_table(contract) == DOCUMENTATION.partition(begin)[2].partition(end)[0]


def test_the_documentation_is_not_compared_with_itself():
    longer = with_overrides(STRIPE_V1, {"safe_resend_seconds": 3600})
    assert markdown_table(longer) not in DOCUMENTATION


def test_the_verdicts_documentation_names_the_whole_absence_rule_and_nothing_else():
    rule = VERDICTS.partition("## Absence")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", rule))
    paths = {path for path, _ in STRIPE_V1.statements()}
    assert named <= paths
    assert {name for name in named if name.startswith("absence.")} == {
        path
        for path in paths
        if path.startswith("absence.") and not path.endswith("waits_for_in_flight_horizon")
    }
    pages = set(re.findall(r"https://[^ |)]+", rule))
    assert pages <= {stated.source for _, stated in STRIPE_V1.statements()}
    assert len(pages) >= 5


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "not stated"),
        (True, "yes"),
        ((), "none"),
        ({}, "none"),
        (frozenset({2, 1}), "1, 2"),
        ("a|b", "a|b"),
    ],
)
def test_values_are_shown_in_words(value, words):
    assert shown(value) == words


# -- the record that is executed agrees with the code that executes it


def test_the_adapter_works_by_the_record():
    assert OPERATION_ID_KEY in STRIPE_V1.surface("refunds.list").correlator.value
    assert OPERATION_ID_KEY in STRIPE_V1.settlement.operation_column.value
    assert TOLERANCE.total_seconds() == STRIPE_V1.webhook.tolerance_seconds.value
    events = STRIPE_V1.webhook.events.value
    assert events
    assert {subject_of(event) for event in events} == {Subject.REFUND}
    assert all(row.source.startswith("docs.stripe.com/") for row in ANSWER_TABLE)


def test_every_record_is_a_contract():
    assert all(isinstance(contract, ProviderContract) for contract in CONTRACTS.values())
    assert len(CONTRACTS) == 4


# -- the operator sees the record that is in force


@pytest.fixture
def overridden(settings):
    def with_windows(**windows):
        settings.GATEWAY_CONTRACT_OVERRIDES = windows
        get_contract.cache_clear()

    yield with_windows
    get_contract.cache_clear()


def shown_by(*arguments):
    out = StringIO()
    call_command("provider_contract", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_shows_the_windows_that_are_in_force(overridden):
    overridden(in_flight_horizon_seconds=7)
    lines = shown_by().splitlines()
    assert "in_flight.horizon_seconds\t7 seconds\tI\toperator decision\tGATEWAY_CONTRACT_OVERRIDES" in lines
    assert lines[-1] == "The review counts until 2027-11-29."


@pytest.mark.parametrize("provider", CONTRACTS)
def test_the_command_shows_every_record(provider):
    told = json.loads(shown_by("--provider", provider, "--json"))
    assert (told["provider"], told["current"]) == (provider, True)
    assert [field["field"] for field in told["fields"]] == [
        path for path, _ in CONTRACTS[provider].statements()
    ]
    assert markdown_table(CONTRACTS[provider]) in shown_by("--provider", provider, "--markdown")


def test_the_command_fails_once_the_review_is_overdue(overridden):
    overridden(review_valid_seconds=1)
    with pytest.raises(CommandError, match="must be reviewed") as failed:
        shown_by()
    assert failed.value.returncode == 3


def test_the_command_knows_four_records():
    with pytest.raises(
        CommandError, match="no record of square; there are adyen, braintree, paypal, stripe"
    ) as failed:
        shown_by("--provider", "square")
    assert failed.value.returncode == 2
