"""Which source a deployment reads, and what its three variables may say."""

import pytest
from pydantic import ValidationError

from config.environment import Environment
from ledger.sources.http_json import HttpLedgerSource
from ledger.sources.local_tables import LocalTables
from refunds.evidence.source import ledger_source, local_source
from tests.factories import make_duplicate_order
from tests.ledger.sources.reading import read

SOUND = {
    "DATABASE_URL": "postgresql://desk@db/desk",
    "REDIS_URL": "redis://cache:6379/0",
    "SECRET_KEY": "x" * 50,
    "DEMO_MODE": False,
    "DEMO_BREAK": "",
}


def environment(**variables):
    return Environment.model_validate(SOUND | variables)


def test_without_an_address_the_tables_are_the_source(settings):
    settings.LEDGER_SOURCE_URL = ""
    assert isinstance(ledger_source(), LocalTables)


@pytest.mark.django_db
def test_the_configured_source_is_asked_with_the_configured_token(settings, shop):
    order = make_duplicate_order().order
    shop.mirror(order)
    settings.LEDGER_SOURCE_URL, settings.LEDGER_SOURCE_TOKEN = shop.url, shop.token
    assert isinstance(ledger_source(), HttpLedgerSource)
    assert ledger_source() is ledger_source()
    assert read(ledger_source(), order).source == "http_json"
    assert [entry["authorized"] for entry in shop.log()] == [True]


def test_what_is_read_under_locks_stays_local(settings):
    settings.LEDGER_SOURCE_URL = "https://shop.example.com"
    assert isinstance(local_source(), LocalTables)


def test_nothing_is_configured_by_default():
    env = environment()
    assert (env.LEDGER_SOURCE_URL, env.LEDGER_SOURCE_TOKEN, env.LEDGER_SOURCE_TIMEOUT_SECONDS) == (
        "",
        "",
        5.0,
    )


@pytest.mark.parametrize("url", ["http://shop.example.com", "http://127.0.0.1:8440"])
def test_the_shop_is_asked_over_https_outside_the_demo(url):
    with pytest.raises(ValidationError, match="LEDGER_SOURCE_URL must be https outside DEMO_MODE"):
        environment(LEDGER_SOURCE_URL=url)
    assert environment(LEDGER_SOURCE_URL=url, DEMO_MODE=True).LEDGER_SOURCE_URL
    assert environment(LEDGER_SOURCE_URL="https://shop.example.com/ledger/v1").LEDGER_SOURCE_URL


@pytest.mark.parametrize(
    "wrong",
    [
        {"LEDGER_SOURCE_URL": "shop.example.com"},
        {"LEDGER_SOURCE_URL": "ftp://shop.example.com"},
        {"LEDGER_SOURCE_URL": "HTTP://shop.example.com"},
        {"LEDGER_SOURCE_URL": "https://user:secret@shop.example.com"},
        {"LEDGER_SOURCE_URL": "https://shop.example.com?merchant=x"},
        {"LEDGER_SOURCE_URL": "https://shop.example.com/#x"},
        {"LEDGER_SOURCE_TOKEN": "two words"},
        {"LEDGER_SOURCE_TOKEN": "line\nbreak"},
        {"LEDGER_SOURCE_TIMEOUT_SECONDS": "0"},
        {"LEDGER_SOURCE_TIMEOUT_SECONDS": "31"},
    ],
)
def test_wrong_values_stop_the_start(wrong):
    with pytest.raises(ValidationError):
        environment(**wrong)
