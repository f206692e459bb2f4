"""Golden verdicts of four providers, and proof that each value of a contract that is read decides one of them."""

from dataclasses import fields, is_dataclass, replace
from datetime import date, timedelta

import pytest

from refunds.gateways.contract import STRIPE_V1, ContractOverrideError
from refunds.gateways.contracts.adyen_v72 import ADYEN_V72
from refunds.gateways.contracts.braintree import BRAINTREE
from refunds.gateways.contracts.paypal_v2 import PAYPAL_V2
from refunds.gateways.contracts.stated import Stated
from refunds.gateways.port import ProviderStatus
from refunds.states import CheckVerdict
from refunds.verdicts import judge
from tests.gateways.golden import adyen_v72, braintree, paypal_v2, stripe_v1
from tests.gateways.golden.cases import START

BOOKS = {
    "stripe": (STRIPE_V1, stripe_v1.CASES),
    "adyen": (ADYEN_V72, adyen_v72.CASES),
    "paypal": (PAYPAL_V2, paypal_v2.CASES),
    "braintree": (BRAINTREE, braintree.CASES),
}
ALL = [
    pytest.param(contract, case, id=f"{provider}: {case.name}")
    for provider, (contract, cases) in BOOKS.items()
    for case in cases
]


def judged(contract, case):
    return judge(
        case.facts, case.lookups, contract=contract, now=START + case.at, events=case.events,
        settlements=case.settlements,
    )  # fmt: skip


@pytest.mark.parametrize(("contract", "case"), ALL)
def test_the_verdict_is_the_golden_one(contract, case):
    judgement = judged(contract, case)
    flags = [name for name in ("contradictory", "hopeless", "told") if getattr(judgement, name)]
    assert (judgement.verdict, flags) == (case.verdict, [case.flag] if case.flag else [])
    assert case.because in judgement.explanation[-1]


@pytest.mark.parametrize("provider", BOOKS)
def test_every_provider_has_at_least_25_different_cases(provider):
    _, cases = BOOKS[provider]
    assert len({case.name for case in cases}) == len(cases) >= 25
    assert len({replace(case, name="", because="") for case in cases}) == len(cases)
    assert all(case.fact for case in cases)


def test_every_verdict_is_reached_by_the_executable_contract():
    assert {case.verdict for case in stripe_v1.CASES} == set(CheckVerdict)


# -- the cases can fail: a contract that says otherwise changes some of them


class Watched:
    """Stands for a stated value and remembers that it was looked at."""

    def __init__(self, stated, path, seen):
        self._stated, self._path, self._seen = stated, path, seen

    @property
    def value(self):
        self._seen.add(self._path)
        return self._stated.value


def rebuilt(thing, change, path=""):
    """Return a copy of a contract in which ``change`` replaces each stated value, by its dotted path."""
    if isinstance(thing, Stated):
        return change(thing, path)
    if isinstance(thing, tuple) and all(is_dataclass(part) for part in thing):
        return tuple(rebuilt(part, change, f"{path}.{part.name}") for part in thing)
    if is_dataclass(thing):
        parts = {
            part.name: rebuilt(getattr(thing, part.name), change, f"{path}.{part.name}".strip("."))
            for part in fields(thing)
        }
        return replace(thing, **parts)
    return thing


def values_read(provider):
    """Return the paths of the values that decide something about this provider's cases."""
    contract, cases = BOOKS[provider]
    seen = set()
    watched = rebuilt(contract, lambda stated, path: Watched(stated, path, seen))
    seen.clear()  # of what the contract checks when it is made
    for case in cases:
        judged(watched, case)
    return sorted(seen - {"review.version"})  # it is only printed


EVENT_WORDS = [
    "REFUND.true",
    "POSTPONED_REFUND",
    "refund.created",
    "PAYMENT.CAPTURE.REFUNDED",
    "refund_failed",
]
OTHERS = {
    "review.reviewed_on": [date(2020, 1, 1)],
    "status_words.of_events": [
        {},
        dict.fromkeys(EVENT_WORDS, ProviderStatus.SUCCEEDED),
        dict.fromkeys(EVENT_WORDS, ProviderStatus.FAILED),
    ],
    "guard.collision_codes": [
        frozenset(),
        frozenset({"charge_already_refunded", "704", "PREVIOUS_REQUEST_IN_PROGRESS", "91512"}),
    ],
    "mismatch.http": [None, 400, 422, 409],
    "mismatch.code": [None, "another"],
    "mismatch.error_type": [None, "another", "invalid_request_error"],
    "absence.needs_answer_code": [None, "another"],
}


def alternatives(path, value):
    """Return other values that this field could have."""
    if path in OTHERS:
        return [other for other in OTHERS[path] if other != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, float) or path.endswith("lag_seconds"):
        return [
            other
            for other in (None if path.endswith("lag_seconds") else 1.0, 1.0, 60.0, 3600.0 * 5, 86400.0 * 9)
            if other is not None or path.endswith("lag_seconds")
        ]
    if isinstance(value, frozenset):
        return [frozenset(), frozenset({503, "DISPUTE", "PARTIAL_CAPTURE_REVERSAL", "NOT_PROCESSED"})]
    raise AssertionError(f"{path}: no alternative to {value!r} is known")


def outcome(contract, cases):
    return [
        (judgement.verdict, judgement.contradictory, judgement.hopeless, judgement.told)
        for judgement in (judged(contract, case) for case in cases)
    ]


@pytest.mark.parametrize("provider", BOOKS)
def test_each_value_that_is_read_decides_a_golden_case(provider):
    contract, cases = BOOKS[provider]
    golden, undecisive = outcome(contract, cases), []
    for path in values_read(provider):
        value = dict(contract.statements())[path].value
        changed = [
            other for other in alternatives(path, value) if _changes(contract, cases, golden, path, other)
        ]
        if not changed:
            undecisive.append(path)
    assert undecisive == [], undecisive


def _changes(contract, cases, golden, path, other):
    def change(stated, at):
        if at == path:
            return replace(stated, value=other)
        # A surface is kept from proving absence twice: it must be said to, and its lag must be known.
        spoken = path.endswith(".proves_absence") and at == path.replace("proves_absence", "lag_seconds")
        return replace(stated, value=0.0) if spoken and stated.value is None else stated

    try:
        return outcome(rebuilt(contract, change), cases) != golden
    except ContractOverrideError:
        return False  # such a contract cannot exist


def test_the_executable_contract_reads_the_whole_absence_rule():
    read = values_read("stripe")
    assert {path for path in read if path.startswith("absence.")} == {
        f"absence.{part.name}" for part in fields(STRIPE_V1.absence)
    }
    assert {"in_flight.horizon_seconds", "resend.safe_seconds", "server_errors.late_effects"} <= set(read)
    assert timedelta(seconds=STRIPE_V1.in_flight_horizon_seconds) == timedelta(minutes=15)
