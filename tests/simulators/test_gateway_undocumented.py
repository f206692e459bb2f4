"""Every fact that the provider does not document is a setting that really changes what the simulator does."""

import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from threading import Thread
from typing import Any

import pytest

from config.demo.gateway_simulator.undocumented import Setting, Undocumented, every_choice
from tests.simulators.raw import Raw, call, refund
from tests.support.gateway_simulator import GatewaySimulator

Look = Callable[[GatewaySimulator], object]

_DAY = 86_400
_LOOKS: dict[str, Look] = {}


@pytest.fixture
def simulator(gateway_simulator: GatewaySimulator) -> Iterator[GatewaySimulator]:
    gateway_simulator.seed_charge("ch_1", amount=5000, payment_intent="pi_1")
    yield gateway_simulator
    gateway_simulator.reset()


def looks_at(*settings: str) -> Callable[[Look], Look]:
    """Register what shows the difference that a setting makes."""

    def register(look: Look) -> Look:
        _LOOKS.update(dict.fromkeys(settings, look))
        return look

    return register


def outcome(answer: Raw) -> tuple[int, bool, Any]:
    error = answer.json.get("error", {})
    told = (error.get("type"), error.get("code"), error.get("param"))
    return answer.status, "idempotent-replayed" in answer.headers, told


@looks_at("key_scope")
def _(simulator: GatewaySimulator) -> object:
    simulator.seed_charge("ch_1", amount=5000, account="acct_1", payment_intent="pi_1")
    form = {"charge": "ch_1", "amount": 1}
    return [
        outcome(call(simulator, "POST", "/v1/refunds", form, key="k", account=one))
        for one in (None, "acct_1")
    ]


@looks_at("match_expand")
def _(simulator: GatewaySimulator) -> object:
    refund(simulator, "k", amount=1)
    return outcome(refund(simulator, "k", amount=1, **{"expand[]": "charge"}))


@looks_at("match_order")
def _(simulator: GatewaySimulator) -> object:
    form = {"charge": "ch_1", "amount": 1}
    call(simulator, "POST", "/v1/refunds", form, key="k")
    return outcome(call(simulator, "POST", "/v1/refunds", dict(reversed(form.items())), key="k"))


@looks_at("match_version")
def _(simulator: GatewaySimulator) -> object:
    form = {"charge": "ch_1", "amount": 1}
    call(simulator, "POST", "/v1/refunds", form, key="k", version="2026-10-28.endive")
    return outcome(call(simulator, "POST", "/v1/refunds", form, key="k", version="2024-06-20"))


@looks_at("match_secret")
def _(simulator: GatewaySimulator) -> object:
    form = {"charge": "ch_1", "amount": 1}
    call(simulator, "POST", "/v1/refunds", form, key="k")
    other = "Bearer sk_test_other"
    return outcome(call(simulator, "POST", "/v1/refunds", form, key="k", authorization=other))


@looks_at("in_use_type")
def _(simulator: GatewaySimulator) -> object:
    simulator.arm("in_flight")
    return outcome(refund(simulator, "k"))


@looks_at("keeps_gateway_errors", "keeps_dependency_errors", "keeps_lock_timeouts")
def _(simulator: GatewaySimulator) -> object:
    seen = []
    for status in (502, 424, 429):
        simulator.arm("status", status=status, code="lock_timeout" if status == 429 else None)
        seen.append([outcome(refund(simulator, f"k{status}", amount=1)) for _ in range(2)])
    return seen


@looks_at("execution_seconds")
def _(simulator: GatewaySimulator) -> object:
    began = time.monotonic()
    refund(simulator, "k", amount=1)
    return time.monotonic() - began > 0.14


@looks_at("object_lock_seconds")
def _(simulator: GatewaySimulator) -> object:
    simulator.arm("delay_before", seconds=60)
    thread = Thread(target=lambda: refund(simulator, "k1", amount=1))
    thread.start()
    simulator.wait_until_waiting()
    seen = outcome(refund(simulator, "k2", amount=1))
    simulator.release()
    thread.join()
    return seen


@looks_at("over_refund_code")
def _(simulator: GatewaySimulator) -> object:
    return outcome(refund(simulator, amount=5001))


@looks_at("uncaptured_code", "uncaptured_param")
def _(simulator: GatewaySimulator) -> object:
    simulator.seed_charge("ch_2", amount=1, captured=False)
    return outcome(refund(simulator, charge="ch_2"))


@looks_at("disputed_code")
def _(simulator: GatewaySimulator) -> object:
    simulator.open_dispute("ch_1")
    return outcome(refund(simulator))


@looks_at("refund_age_limit_seconds")
def _(simulator: GatewaySimulator) -> object:
    simulator.advance(181 * _DAY)
    return outcome(refund(simulator))


@looks_at("dispute_after_full_refund")
def _(simulator: GatewaySimulator) -> object:
    refund(simulator)
    try:
        return simulator.open_dispute("ch_1")["status"]
    except OSError as refused:
        refused.close()
        return refused.code


@looks_at("ugx_decimals")
def _(simulator: GatewaySimulator) -> object:
    simulator.seed_charge("ch_2", amount=5000, currency="ugx")
    return outcome(refund(simulator, charge="ch_2", amount=150))


@looks_at("pending_expires_seconds")
def _(simulator: GatewaySimulator) -> object:
    simulator.set_balance("usd", 0)
    refund(simulator)
    simulator.advance(30 * _DAY)
    return eventually(lambda: simulator.refunds()[0].get("failure_reason"))


@looks_at("pending_has_balance_transaction")
def _(simulator: GatewaySimulator) -> object:
    simulator.set_balance("usd", 0)
    made = refund(simulator).json
    rows = call(simulator, "GET", f"/v1/balance_transactions?source={made['id']}").json["data"]
    return made["balance_transaction"] is None, len(rows)


@looks_at("failed_gives_back")
def _(simulator: GatewaySimulator) -> object:
    simulator.set_refund_status(refund(simulator).json["id"], "failed")
    return call(simulator, "GET", "/v1/charges/ch_1").json["amount_refunded"], outcome(refund(simulator))


@looks_at("other_method_without_balance")
def _(simulator: GatewaySimulator) -> object:
    simulator.seed_charge("py_2", amount=5000, payment_method_type="sepa_debit")
    simulator.set_balance("usd", 0)
    answer = refund(simulator, charge="py_2")
    return outcome(answer), answer.json.get("failure_reason")


@looks_at("lag_charge_refunds_seconds")
def _(simulator: GatewaySimulator) -> object:
    refund(simulator)
    return len(call(simulator, "GET", "/v1/charges/ch_1/refunds").json["data"])


@looks_at("lag_events_seconds")
def _(simulator: GatewaySimulator) -> object:
    refund(simulator)
    return len(call(simulator, "GET", "/v1/events").json["data"])


@looks_at("lag_search_seconds")
def _(simulator: GatewaySimulator) -> object:
    simulator.seed_charge("ch_2", amount=1, metadata={"order": "7"})
    query = "query=metadata%5B%22order%22%5D:%227%22"
    return len(call(simulator, "GET", f"/v1/charges/search?{query}").json["data"])


@looks_at("prune_delay_seconds")
def _(simulator: GatewaySimulator) -> object:
    refund(simulator, "k", amount=1)
    simulator.advance(_DAY)
    return outcome(refund(simulator, "k", amount=1))


def eventually(look: Callable[[], Any]) -> Any:
    """Return what is found within a moment, or what is there then: the simulator's thread needs its turn."""
    for _ in range(60):
        if found := look():
            return found
        time.sleep(0.01)
    return look()


@pytest.mark.parametrize("setting", sorted({name for name, _ in every_choice()}), ids=lambda name: name)
def test_a_setting_is_looked_at(setting: str) -> None:
    documented = {"lag_list_seconds", "key_retention_seconds", "action_expires_seconds"}
    documented |= {"dashboard_cancel_seconds", "requests_per_second"}
    assert setting in _LOOKS.keys() | documented


def _changing() -> list[tuple[str, tuple[Setting, ...]]]:
    return [
        (one.name, one.metadata["choices"])
        for one in fields(Undocumented)
        if len(one.metadata["choices"]) > 1
    ]


@pytest.mark.parametrize(("setting", "choices"), _changing(), ids=lambda value: str(value)[:40])
def test_each_choice_of_a_setting_is_seen_from_outside(
    simulator: GatewaySimulator, setting: str, choices: tuple[Setting, ...]
) -> None:
    seen = []
    for choice in choices:
        simulator.reset()
        simulator.seed_charge("ch_1", amount=5000, payment_intent="pi_1")
        simulator.set_undocumented(**{setting: choice})
        seen.append(_LOOKS[setting](simulator))
    assert len(seen) == len(choices) > 1
    for place, one in enumerate(seen):
        assert one not in seen[:place], f"{setting}: {choices[place]} is like another choice"


@pytest.mark.parametrize(
    "settings",
    [
        None,
        [],
        {"colour": 1},
        {"key_scope": "world"},
        {"match_order": 1},
        {"execution_seconds": -1},
        {"execution_seconds": True},
        {"execution_seconds": None},
        {"over_refund_code": ""},
        {"ugx_decimals": 3},
    ],
)
def test_a_setting_that_makes_no_sense_changes_nothing(simulator: GatewaySimulator, settings: object) -> None:
    before = simulator.control("GET", "settings")
    with pytest.raises(OSError) as refused:
        simulator.control("POST", "settings", settings)
    refused.value.close()
    assert refused.value.code == 400
    assert simulator.control("GET", "settings") == before


def test_a_reset_and_a_delete_return_to_what_is_usual(simulator: GatewaySimulator) -> None:
    usual = simulator.control("GET", "settings")["settings"]
    assert usual == Undocumented().as_json()
    simulator.set_undocumented(key_scope="platform", lag_events_seconds=5)
    assert simulator.control("GET", "settings")["settings"] != usual
    assert simulator.control("DELETE", "settings")["settings"] == usual
    simulator.set_undocumented(key_scope="platform")
    simulator.reset()
    assert simulator.control("GET", "settings")["settings"] == usual


def test_every_setting_says_where_it_was_looked_for(simulator: GatewaySimulator) -> None:
    for one in simulator.control("GET", "settings")["all"]:
        assert one["page"].startswith("docs.stripe.com/")
        assert one["meaning"]
        assert one["choices"][0] == one["default"]
