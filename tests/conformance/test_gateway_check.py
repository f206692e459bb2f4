"""``manage.py gateway_check``: it finds each fact where it holds, and where a provider behaves otherwise it says so."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from ledger.transaction_guard import OpenTransactionError
from refunds.gateways.probes.asking import Asker, is_test_key
from refunds.gateways.probes.key_writes import KEY_WRITES
from refunds.gateways.probes.reads import REACHED, READS
from refunds.gateways.probes.records import Ask, Outcome
from refunds.gateways.probes.refund_writes import REFUND_WRITES
from refunds.gateways.probes.unasked import UNASKED
from refunds.gateways.wire import Exchange
from tests.support.gateway_simulator import GatewaySimulator

ASKED = {probe.name: probe for probe in (REACHED, *READS, *REFUND_WRITES, *KEY_WRITES)}
NOT_CONFORMING: dict[str, Callable[[Ask, Exchange], Exchange]] = {}


@pytest.fixture
def simulator(tmp_path: Any, any_provider: Any) -> Iterator[GatewaySimulator]:
    """The suite's own simulator, or one beside the other provider: the command is tested here alone."""
    if any_provider.simulator is not None:
        any_provider.simulator.reset()
        any_provider.simulator.seed_charge("ch_1", amount=5000)
        yield any_provider.simulator
        any_provider.simulator.reset()
        return
    with GatewaySimulator(book=tmp_path / "book.sqlite3") as own:
        own.seed_charge("ch_1", amount=5000)
        yield own


def asker(simulator: GatewaySimulator, **more: Any) -> Asker:
    return Asker(
        **{
            "base_url": simulator.url,
            "api_key": simulator.api_key,
            "connect_timeout_seconds": 2.0,
            "answer_timeout_seconds": 5.0,
            "reads_only": False,
        }
        | more
    )


def run(settings: Any, *arguments: str, key: str = "sk_test_check") -> tuple[str, str]:
    """Return what the command printed to stdout and stderr."""
    settings.STRIPE_API_KEY = key
    out, progress = StringIO(), StringIO()
    call_command("gateway_check", *arguments, stdout=out, stderr=progress)
    return out.getvalue(), progress.getvalue()


def refused(settings: Any, *arguments: str, **more: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as error:
        run(settings, *arguments, **more)
    return error.value.returncode, str(error.value)


def changed(exchange: Exchange, status: int | None = None, **fields: Any) -> Exchange:
    """Return the answer with another status or other top-level fields."""
    body = {**json.loads(exchange.body), **fields}
    return replace(exchange, http_status=status or exchange.http_status, body=json.dumps(body).encode())


def error(exchange: Exchange, status: int = 400, **fields: str) -> Exchange:
    told = {"type": "invalid_request_error", "message": "no", **fields}
    return replace(exchange, http_status=status, body=json.dumps({"error": told}).encode())


def empty(exchange: Exchange, **fields: Any) -> Exchange:
    return changed(exchange, 200, object="list", data=[], has_more=False, error=None, **fields)


def otherwise(*names: str) -> Callable[[Any], Any]:
    def register(lie: Any) -> Any:
        NOT_CONFORMING.update(dict.fromkeys(names, lie))
        return lie

    return register


@otherwise("key-accepted")
def _(_ask: Ask, exchange: Exchange) -> Exchange:
    return changed(exchange, has_more=None)


@otherwise("wrong-key-refused", "unknown-charge-is-an-error", "unknown-refund-is-missing")
def _(_ask: Ask, exchange: Exchange) -> Exchange:
    return empty(exchange)


@otherwise("pages-join")
def _(ask: Ask, exchange: Exchange) -> Exchange:
    return exchange if "starting_after" in ask.form else changed(exchange, has_more=False)


@otherwise("key-on-a-read")
def _(ask: Ask, exchange: Exchange) -> Exchange:
    replay = {"idempotent-replayed": "true"}
    return replace(exchange, headers=replay) if ask.form["limit"] == "2" else exchange


@otherwise("events-name-their-key")
def _(_ask: Ask, exchange: Exchange) -> Exchange:
    return changed(exchange, data=[{"id": "evt_1", "request": None}])


@otherwise("charge-comes-alone")
def _(_ask: Ask, exchange: Exchange) -> Exchange:
    return changed(exchange, refunds={"object": "list"})


@otherwise("refunds-are-understood")
def _(_ask: Ask, exchange: Exchange) -> Exchange:
    (one, *_) = json.loads(exchange.body)["data"]
    return changed(exchange, data=[{**one, "status": "teleported"}])


@otherwise("unknown-charge-is-refused", "payment-must-be-named", "long-key-is-refused")
def _(_ask: Ask, exchange: Exchange) -> Exchange:
    return (
        error(exchange, 404, code="resource_missing", type="api_error")
        if exchange.http_status == 400
        else (error(exchange, 200))
    )


@otherwise("reason-is-closed", "over-refund-is-refused")
def _(_ask: Ask, exchange: Exchange) -> Exchange:
    return error(exchange, param="charge")


@otherwise("replay-is-the-first-answer")
def _(_ask: Ask, exchange: Exchange) -> Exchange:
    return replace(exchange, headers={})


@otherwise("other-parameters-are-refused", "other-endpoint-is-refused")
def _(_ask: Ask, exchange: Exchange) -> Exchange:
    return exchange if exchange.http_status == 200 else error(exchange, 409)


@otherwise("invalid-request-is-not-kept")
def _(_ask: Ask, exchange: Exchange) -> Exchange:
    return exchange if exchange.http_status == 400 else error(exchange, type="idempotency_error")


@otherwise("two-keys-are-two-refunds")
def _(_ask: Ask, exchange: Exchange) -> Exchange:
    return changed(exchange, id="re_1")


@otherwise("listed-at-once")
def _(ask: Ask, exchange: Exchange) -> Exchange:
    return empty(exchange) if ask.method == "GET" else exchange


@pytest.mark.parametrize("name", sorted(ASKED))
def test_a_provider_that_behaves_otherwise_is_found_out(
    simulator: GatewaySimulator, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for _ in range(2):
        simulator.seed_refund("ch_1", amount=1)
    honest = asker(simulator)
    situation, _ = honest.situation("ch_1")
    expected = {Outcome.SEEN} if name == "event-carries-the-key" else {Outcome.HOLDS, Outcome.OPEN}
    assert honest.run(ASKED[name], situation).outcome in expected
    if expected == {Outcome.SEEN}:  # a missing event proves nothing, so it cannot fail
        return
    make = Asker._exchange
    monkeypatch.setattr(Asker, "_exchange", lambda self, ask: NOT_CONFORMING[name](ask, make(self, ask)))
    assert honest.run(ASKED[name], situation).outcome is Outcome.FAILS


@pytest.mark.django_db
def test_everything_that_can_be_asked_holds_at_the_simulator(
    simulator: GatewaySimulator, settings: Any
) -> None:
    out, progress = run(settings, "--base-url", simulator.url, "--charge", "ch_1", "--json")
    report = json.loads(out)
    assert (report["base_url"], report["reads_only"]) == (simulator.url, False)
    outcomes = {one["name"]: one["outcome"] for one in report["findings"]}
    assert set(outcomes) == {*ASKED, *(probe.name for probe in UNASKED)}
    for name in ASKED:
        assert outcomes[name] == ("SEEN" if name == "event-carries-the-key" else "HOLDS"), name
    assert report["counts"]["FAILS"] == 0
    promised = sum(probe.refunds for probe in ASKED.values())
    assert [one["amount"] for one in simulator.refunds()] == [1] * promised
    assert len(progress.splitlines()) == len(outcomes) + 1
    assert "sk_test" not in out + progress


@pytest.mark.django_db
def test_a_fact_that_does_not_hold_is_the_exit_code(simulator: GatewaySimulator, settings: Any) -> None:
    simulator.set_undocumented(lag_list_seconds=60)
    code, message = refused(settings, "--base-url", simulator.url, "--charge", "ch_1")
    assert code == 1
    assert message == "the contract does not hold there: listed-at-once"


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["sk_live_check", "rk_live_check", "something_else", "sk_test_check"])
def test_reads_only_makes_reads_alone_whatever_the_key(
    simulator: GatewaySimulator, settings: Any, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    if not is_test_key(key):
        code, message = refused(settings, "--base-url", simulator.url, "--charge", "ch_1", key=key)
        assert (code, "not a test key" in message) == (2, True)
        assert simulator.log() == []
        # The simulator takes test keys alone, so what is sent is one; what decides is the configured key.
        headers = Asker._headers
        monkeypatch.setattr(
            Asker,
            "_headers",
            lambda self, ask: {
                name: value.replace(key, "sk_test_sent") for name, value in headers(self, ask).items()
            },
        )
    out, _ = run(settings, "--base-url", simulator.url, "--charge", "ch_1", "--live-mode-reads-only", key=key)
    assert {entry["method"] for entry in simulator.log()} == {"GET"}
    assert simulator.refunds() == []
    assert "0 fails" in out
    assert key not in out


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "key", "code", "says"),
    [
        (("--base-url", "http://example.com"), "sk_test_1", 2, "https"),
        (("--base-url", "nonsense"), "sk_test_1", 2, "https"),
        (("--base-url", "https://me:hunter2@127.0.0.1:1"), "sk_test_1", 2, "credentials"),
        (("--base-url", "https://127.0.0.1:99999"), "sk_test_1", 2, "ort"),
        (("--base-url", "https://[::1"), "sk_test_1", 2, "Invalid"),
        (("--base-url", "http://127.0.0.1:1/?a=1"), "sk_test_1", 2, "must end"),
        (("--base-url", "http://127.0.0.1:1/\x1b[2J"), "sk_test_1", 2, "must end"),
        (("--base-url", "http://127.0.0.1:1"), "", 2, "STRIPE_API_KEY"),
        (("--base-url", "http://127.0.0.1:1"), "sk_test_1 ", 2, "characters"),
        (("--charge", "pi_1"), "sk_test_1", 2, "--charge"),
        (("--charge", "ch_1/../x"), "sk_test_1", 2, "--charge"),
        (("--base-url", "http://127.0.0.1:1"), "sk_test_1", 3, "CONNECT_FAILED"),
    ],
)
def test_what_cannot_be_asked_is_one_clear_sentence(
    settings: Any, arguments: tuple[str, ...], key: str, code: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ledger.retries.time.sleep", lambda _seconds: None)
    told, message = refused(settings, *arguments, key=key)
    assert told == code
    assert says in message
    assert "\n" not in message
    assert "hunter2" not in message


@pytest.mark.django_db
def test_an_unknown_charge_and_a_currency_without_a_rule_end_it(
    simulator: GatewaySimulator, settings: Any
) -> None:
    code, message = refused(settings, "--base-url", simulator.url, "--charge", "ch_nobody")
    assert (code, "404" in message) == (2, True)
    simulator.seed_charge("ch_2", amount=500, currency="ugx")
    code, message = refused(settings, "--base-url", simulator.url, "--charge", "ch_2")
    assert (code, "UGX" in message) == (2, True)
    assert simulator.refunds() == []


@pytest.mark.django_db
@pytest.mark.parametrize(("currency", "smallest"), [("jpy", 1), ("kwd", 10), ("isk", 100)])
def test_the_smallest_amount_is_the_currencys_own(
    simulator: GatewaySimulator, settings: Any, currency: str, smallest: int
) -> None:
    simulator.seed_charge("ch_2", amount=100_000, currency=currency)
    run(settings, "--base-url", simulator.url, "--charge", "ch_2")
    assert {one["amount"] for one in simulator.refunds("ch_2")} == {smallest}


@pytest.mark.django_db
def test_a_wrong_key_is_not_taken_for_a_broken_contract(simulator: GatewaySimulator, settings: Any) -> None:
    simulator.arm("status", status=401, on="list", count=None)
    code, message = refused(settings, "--base-url", simulator.url)
    assert (code, "401" in message) == (3, True)


@pytest.mark.django_db
def test_a_charge_that_is_refunded_leaves_facts_open_and_breaks_none(
    simulator: GatewaySimulator, settings: Any
) -> None:
    simulator.seed_refund("ch_1")
    out, _ = run(settings, "--base-url", simulator.url, "--charge", "ch_1", "--json")
    report = json.loads(out)
    open_ones = {one["name"] for one in report["findings"] if one["outcome"] == "OPEN"}
    assert {"replay-is-the-first-answer", "listed-at-once"} <= open_ones


@pytest.mark.django_db(transaction=True)
def test_nothing_is_asked_inside_a_transaction(simulator: GatewaySimulator) -> None:
    with transaction.atomic(), pytest.raises(OpenTransactionError):
        asker(simulator).ask(Ask(method="GET", path="/v1/refunds"))
    assert simulator.log() == []


def test_the_key_is_not_in_what_an_asker_shows_of_itself(simulator: GatewaySimulator) -> None:
    assert simulator.api_key not in repr(asker(simulator))


def test_an_asker_that_only_reads_cannot_be_made_to_write(simulator: GatewaySimulator) -> None:
    with pytest.raises(RuntimeError):
        asker(simulator, reads_only=True).ask(Ask(method="POST", path="/v1/refunds"))
    assert simulator.log() == []
