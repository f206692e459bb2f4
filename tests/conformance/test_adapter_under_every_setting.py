"""The product's adapter and verdicts stay right whatever the provider does where its pages say nothing.

After every step the conclusion is held against the provider's own book: never rejected, absent or unsent while the
refund is there or still to come, never completed without it, and never a second one.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import pytest

from config.demo.gateway_simulator.fault_kinds import UNPARSABLE_BODIES
from config.demo.gateway_simulator.undocumented import Setting, Undocumented, every_choice
from refunds.gateways import stripe_answers
from refunds.gateways.port import AnswerClass, GatewayAnswer
from refunds.gateways.stripe_answers import AnswerRule
from refunds.states import CheckVerdict, OperationState
from tests.conformance.clerk import Clerk
from tests.conformance.provider import Provider
from tests.support.gateway_simulator import GatewaySimulator

Scenario = Callable[[GatewaySimulator], None]

_O = OperationState
_HOUR, _DAY = 3600, 86_400
SCENARIOS: list[Scenario] = []


@pytest.fixture
def simulator(provider: Provider) -> GatewaySimulator:
    return provider.control


def scenario(run: Scenario) -> Scenario:
    SCENARIOS.append(run)
    return run


@scenario
def it_goes_well(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator)
    clerk.send()
    assert clerk.state is _O.COMPLETED


@scenario
def it_goes_well_on_a_connected_account_and_by_intent(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator, account="acct_1", payment_intent="pi_own").changed(payment_reference="pi_own")
    clerk.send()
    assert clerk.state is _O.COMPLETED


@scenario
def the_answer_is_lost(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator)
    simulator.arm("drop_after")
    assert clerk.send().answer_class is AnswerClass.UNKNOWN
    clerk.look_up(after=timedelta(0))
    assert clerk.state is _O.COMPLETED


@scenario
def the_answer_is_lost_and_the_same_is_sent_again(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator)
    simulator.arm("drop_after")
    clerk.send()
    clerk.send()
    assert clerk.state is _O.COMPLETED


@scenario
def it_is_sent_again_with_a_new_secret(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator)
    simulator.arm("drop_after")
    clerk.send()
    clerk.send(api_key="sk_test_rolled")
    clerk.look_up()
    assert clerk.state is _O.COMPLETED


@scenario
def it_never_arrived(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator)
    simulator.arm("drop_before")
    clerk.send()
    assert clerk.look_up(after=timedelta(0)).verdict is CheckVerdict.NOT_FOUND_YET
    clerk.look_up()
    assert clerk.state is _O.CONFIRMED_ABSENT
    clerk.send()
    assert clerk.state is _O.COMPLETED


@scenario
def a_500_has_booked(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator)
    simulator.arm("status", status=500, book=True)
    clerk.send()
    clerk.send()
    assert clerk.state is _O.STATUS_UNKNOWN
    clerk.look_up()
    assert clerk.state is _O.COMPLETED


@scenario
def a_500_takes_effect_long_after(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator)
    clerk.effect_to_come = True
    simulator.arm("late_effect", seconds=6 * _HOUR)
    clerk.send()
    clerk.look_up()
    clerk.send()
    clerk.look_up(after=timedelta(hours=5))
    assert clerk.state is _O.STATUS_UNKNOWN
    simulator.advance(6 * _HOUR)
    _wait_until(lambda: bool(clerk.ours()))
    clerk.effect_to_come = False
    clerk.look_up(after=timedelta(hours=6))
    assert clerk.state is _O.COMPLETED


@scenario
def other_server_errors(simulator: GatewaySimulator) -> None:
    for status in (424, 502, 503, 504):
        for book in (True, False):
            clerk = Clerk(simulator)
            simulator.arm("status", status=status, book=book)
            assert clerk.send().answer_class is AnswerClass.UNKNOWN
            clerk.send()
            clerk.look_up()
            if book:
                assert clerk.state is _O.COMPLETED


@scenario
def a_limiter_and_a_lock(simulator: GatewaySimulator) -> None:
    limited = Clerk(simulator)
    simulator.arm("status", status=429, rate_limited_reason="global-rate")
    limited.send()
    assert limited.state is _O.CREATED
    limited.send()
    assert limited.state is _O.COMPLETED
    locked = Clerk(simulator)
    simulator.arm("status", status=429, code="lock_timeout")
    locked.send()
    assert locked.state is _O.STATUS_UNKNOWN
    locked.send()
    locked.look_up()


@scenario
def a_limiter_after_a_lost_answer(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator)
    simulator.arm("drop_after")
    clerk.send()
    simulator.arm("status", status=429, rate_limited_reason="endpoint-rate")
    clerk.send()
    assert clerk.state is _O.STATUS_UNKNOWN
    clerk.look_up()
    assert clerk.state is _O.COMPLETED


@scenario
def the_key_is_in_use(simulator: GatewaySimulator) -> None:
    for kind in ("executing", "delay_before"):
        clerk = Clerk(simulator)
        simulator.arm(kind, seconds=20)
        begun, answers = datetime.now(UTC), list[GatewayAnswer]()
        gateway = clerk.gateway()
        thread = Thread(target=lambda g=gateway, c=clerk, a=answers: a.append(g.submit_refund(c.command)))
        thread.start()
        simulator.wait_until_waiting()
        assert clerk.send().http_status in (409, 429)  # 429 where objects are locked
        assert clerk.state is _O.STATUS_UNKNOWN
        clerk.look_up(after=timedelta(0))
        simulator.release()
        thread.join(20)
        clerk.take(answers[0], begun)
        assert clerk.state is _O.COMPLETED


@scenario
def it_was_refunded_elsewhere(simulator: GatewaySimulator) -> None:
    for elsewhere in (5000, 4999):
        clerk = Clerk(simulator)
        simulator.dashboard_refund(clerk.charge, amount=elsewhere)
        assert clerk.send().answer_class in {AnswerClass.REFUSED, AnswerClass.UNKNOWN}
        clerk.look_up()
        clerk.check()


@scenario
def our_own_success_is_the_reason_for_the_refusal(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator)
    simulator.arm("drop_after")
    clerk.send()
    simulator.forget_keys()
    clerk.send()
    assert clerk.state is _O.STATUS_UNKNOWN
    clerk.look_up()
    assert clerk.state is _O.COMPLETED


@scenario
def the_charge_cannot_be_refunded(simulator: GatewaySimulator) -> None:
    uncaptured, disputed = Clerk(simulator, captured=False), Clerk(simulator)
    simulator.open_dispute(disputed.charge)
    for clerk in (uncaptured, disputed):
        assert clerk.send().answer_class in {AnswerClass.REFUSED, AnswerClass.UNKNOWN}
        clerk.look_up()
    old = Clerk(simulator)
    simulator.advance(181 * _DAY)
    old.send()
    old.look_up()


@scenario
def the_balance_is_empty(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator)
    simulator.set_balance("usd", 0)
    clerk.send()
    assert clerk.state is _O.PROVIDER_PENDING
    simulator.set_balance("usd", 5000)
    clerk.look_up()
    assert clerk.state is _O.COMPLETED


@scenario
def the_balance_stays_empty(simulator: GatewaySimulator) -> None:
    card, other = Clerk(simulator), Clerk(simulator, payment_method_type="sepa_debit")
    simulator.set_balance("usd", 0)
    for clerk in (card, other):
        clerk.send()
        clerk.look_up()
    simulator.advance(8 * _DAY)
    if simulator.control("GET", "settings")["settings"]["pending_expires_seconds"] is not None:
        _wait_until(lambda: card.ours()[0]["status"] == "failed")
        card.look_up()
        assert card.state is _O.FAILED
    assert other.state in {_O.FAILED, _O.CONFIRMED_ABSENT}  # absent: refused without a code that we know


@scenario
def it_fails_after_it_succeeded(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator)
    clerk.send()
    simulator.set_refund_status(clerk.ours()[0]["id"], "failed", failure_reason="declined")
    clerk.look_up()
    assert clerk.state is _O.FAILED


@scenario
def it_waits_for_its_customer(simulator: GatewaySimulator) -> None:
    clerk = Clerk(simulator, payment_method_type="konbini")
    clerk.send()
    assert clerk.state is _O.PROVIDER_PENDING
    clerk.look_up()
    assert clerk.state is _O.PROVIDER_PENDING


@scenario
def currencies_of_their_own(simulator: GatewaySimulator) -> None:
    for currency, units in (("jpy", 5000), ("kwd", 5120), ("ugx", 5000)):
        clerk = Clerk(simulator, currency=currency, amount=500_000).changed(amount_minor_units=units)
        clerk.send()
        if currency == "ugx":  # contradictory in the docs, so it is never sent
            assert [entry for entry in simulator.log(method="POST") if clerk.charge in entry["body"]] == []
        else:
            assert clerk.state is _O.COMPLETED


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = datetime.now(UTC) + timedelta(seconds=10)
    while not holds():
        assert datetime.now(UTC) < deadline


def _worlds() -> list[tuple[str, Setting]]:
    """Return each setting with each of its values, and the usual world once."""
    usual = Undocumented().as_json()
    return [("key_scope", usual["key_scope"]), *(one for one in every_choice() if one[1] != usual[one[0]])]


@pytest.mark.parametrize(("setting", "choice"), _worlds(), ids=str)
def test_no_setting_makes_the_product_conclude_wrongly(
    simulator: GatewaySimulator, setting: str, choice: Setting
) -> None:
    assert len(SCENARIOS) >= 20
    for run in SCENARIOS:
        simulator.reset()
        simulator.set_undocumented(**{setting: choice})
        try:
            run(simulator)
        except BaseException as error:
            error.add_note(f"in the scenario {run.__name__}")
            raise


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        *(("unparsable", {"body": body}) for body in UNPARSABLE_BODIES),
        ("cut_body", {}),
        ("cut_body", {"reset": True}),
        ("slow_body", {"seconds": 20}),
        ("hold", {"seconds": 20}),
    ],
)
def test_a_body_that_cannot_be_read_says_nothing(
    simulator: GatewaySimulator, kind: str, more: dict[str, Any]
) -> None:
    clerk = Clerk(simulator)
    simulator.arm(kind, **more)
    assert clerk.send().answer_class is AnswerClass.UNKNOWN
    simulator.release()
    for _ in range(3):  # the list is tried three times
        simulator.arm("unparsable", on="list", **(more if kind == "unparsable" else {}))
    assert clerk.look_up().verdict is CheckVerdict.STILL_AMBIGUOUS
    simulator.disarm()
    clerk.look_up()
    assert clerk.state is _O.COMPLETED


def test_a_list_that_is_behind_would_be_believed_and_the_suite_says_so(simulator: GatewaySimulator) -> None:
    """The one documented promise that absence rests on; where it does not hold, ``gateway_check`` must fail."""
    clerk = Clerk(simulator)
    simulator.set_undocumented(lag_list_seconds=30 * 60)
    simulator.arm("drop_after")
    clerk.send()
    with pytest.raises(AssertionError, match="CONFIRMED_ABSENT, and the provider has the refund"):
        clerk.look_up()


WRONG_READINGS: dict[str, tuple[Callable[[AnswerRule], bool], AnswerClass]] = {
    "a 500 is a refusal": (lambda rule: rule.http_status == 500, AnswerClass.REFUSED),
    "a 502 was never executed": (lambda rule: rule.http_status == 502, AnswerClass.NOT_EXECUTED),
    "a 424 is a refusal": (lambda rule: rule.http_status == 424, AnswerClass.REFUSED),
    "a key in use was never executed": (lambda rule: rule.http_status == 409, AnswerClass.NOT_EXECUTED),
    "a success is taken for a failure": (lambda rule: rule.http_status == 200, AnswerClass.REFUSED),
}


@pytest.mark.parametrize("wrong", WRONG_READINGS)
def test_a_wrong_reading_of_an_answer_is_noticed(
    simulator: GatewaySimulator, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """The scenarios can fail: each of these readings leads to a conclusion that the provider's book contradicts."""
    concerns, answer_class = WRONG_READINGS[wrong]
    table = [
        replace(rule, answer_class=answer_class) if concerns(rule) else rule
        for rule in stripe_answers.ANSWER_TABLE
    ]
    monkeypatch.setattr(stripe_answers, "ANSWER_TABLE", tuple(table))
    monkeypatch.setattr(
        stripe_answers,
        "_CLASS_BY_STATUS",
        dict.fromkeys(stripe_answers._CLASS_BY_STATUS, answer_class)
        if wrong.startswith("a success")
        else stripe_answers._CLASS_BY_STATUS,
    )
    noticed = []
    for run in SCENARIOS:
        simulator.reset()
        try:
            run(simulator)
        except AssertionError as error:
            noticed.append(str(error))
    assert any("and the provider has the refund" in message for message in noticed), noticed
