"""The demo's table: which part gets which credentials and addresses."""

import json
import os
from unittest import mock

import pytest

from config.demo.runner.desk import Desk
from config.demo.runner.plan import demo_plan
from config.demo.runner.state_folder import StateFolder
from config.environment import Environment
from refunds.gateways.contract import STRIPE_V1, with_overrides

MODEL = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "ASSISTANT_MODELS"}
PROVIDER = {"STRIPE_API_KEY", "STRIPE_API_BASE", "GATEWAY_CONTRACT_OVERRIDES"}
EVENTS = {"STRIPE_WEBHOOK_SECRETS"}
SHOP = {"LEDGER_SOURCE_URL", "LEDGER_SOURCE_TOKEN", "LEDGER_SOURCE_TIMEOUT_SECONDS"}


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setenv("STRIPE_API_KEY", "sk_live_of_the_persons_own_shell")
    monkeypatch.setenv("LEDGER_SOURCE_URL", "https://shop.example.com")
    state = StateFolder(tmp_path / ".demo", checkout=tmp_path)
    with state.in_use():
        yield Desk(
            state=state,
            database_url="postgresql://own@127.0.0.1/own",
            redis_url="redis://127.0.0.1:1/0",
            web_port=8000,
            gateway_port=8001,
            model_port=8002,
            shop_port=8003,
            mail_port=8004,
            smtp_port=8005,
        )


@pytest.fixture
def parts(desk):
    plan = demo_plan(desk)
    return {part.name: part for part in (*plan.processes, plan.story)}


def test_names_are_not_shared_since_each_is_a_log_file(desk):
    plan = demo_plan(desk)

    names = [part.name for part in (*plan.processes, plan.story)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("web", EVENTS | SHOP),
        ("money", PROVIDER | SHOP),
        ("assistant", MODEL | SHOP),
        ("default", set()),
        ("mail", set()),
        ("beat", set()),
        ("migrate", set()),
        ("gateway", set()),
        ("load", MODEL | PROVIDER | SHOP),  # sets everything up, and is gone before anybody asks
    ],
)
def test_each_part_holds_its_own_credentials_and_no_others(parts, name, held):
    assert parts[name].env.keys() & (MODEL | PROVIDER | EVENTS | SHOP) == held


def test_what_the_persons_shell_holds_never_arrives(parts):
    values = {value for part in parts.values() for value in part.env.values()}

    assert not values & {"sk_live_of_the_persons_own_shell", "https://shop.example.com"}


@pytest.mark.parametrize("name", ["web", "money", "assistant", "default", "mail", "beat", "story"])
def test_every_environment_can_be_started_with(parts, name):
    with mock.patch.dict(os.environ, parts[name].env, clear=True):
        Environment.model_validate({})


def test_the_provider_signs_its_events_with_what_the_pages_check(desk, parts):
    secret = desk.state.webhook_secret()

    assert parts["web"].env["STRIPE_WEBHOOK_SECRETS"] == secret
    assert parts["gateway"].command[-4:] == (
        *("--webhook-url", "http://127.0.0.1:8000/webhooks/stripe"),
        *("--webhook-secret", secret),
    )
    assert (desk.state.path / "webhook_secret").stat().st_mode & 0o777 == 0o600


def test_mail_goes_to_the_mail_simulator_and_lies_in_the_state_folder(desk, parts):
    assert parts["mail"].env["EMAIL_URL"] == "smtp://127.0.0.1:8005"
    assert parts["mailserver"].command[-4:] == ("--smtp-port", "8005", "--outbox", str(desk.mailbox))
    assert "http://127.0.0.1:8004" in parts["story"].command


def test_the_shortened_windows_are_a_contract_that_holds(parts):
    overrides = json.loads(parts["money"].env["GATEWAY_CONTRACT_OVERRIDES"])

    contract = with_overrides(STRIPE_V1, overrides)
    assert contract.in_flight_horizon_seconds > float(parts["money"].env["GATEWAY_TIMEOUT_SECONDS"])


def test_the_welcome_says_where_everything_is(desk):
    welcome = demo_plan(desk).welcome

    for place in (
        "/support/",
        "/admin/review/scoreboard/",
        "/metrics",
        ":8001/_sim/webhooks",
        ":8004/_sim/messages",
    ):
        assert place in welcome
