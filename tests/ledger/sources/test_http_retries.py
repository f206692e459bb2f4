"""The retry row of the ledger source, counted at the shop: three attempts in all, and what is never tried again."""

import socket
import time

import httpx2
import pytest
from django.db import transaction

from ledger.retries import LEDGER_SOURCE
from ledger.snapshot import LedgerSnapshot
from ledger.sources.exchange import explain_error
from ledger.sources.http_json import HttpLedgerSource
from ledger.sources.port import SourceFailureKind
from ledger.transaction_guard import OpenTransactionError, refuse_open_transaction
from tests.factories import make_duplicate_order
from tests.ledger.sources.reading import failed, read, rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def order(shop):
    order = make_duplicate_order().order
    shop.mirror(order)
    return order


def short_patience(shop, waits, *, token=None, seconds=0.2):
    return HttpLedgerSource(
        base_url=shop.url,
        token=shop.token if token is None else token,
        timeout_seconds=seconds,
        sleep=waits.append,
    )


def test_the_question_names_merchant_and_order_and_shows_the_token(shop, source, order):
    read(source, order)
    (asked,) = shop.log()
    assert (asked["merchant"], asked["order"]) == (order.merchant.code, order.number)
    assert (asked["authorized"], asked["status"]) == (True, 200)


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_shop_that_is_down_is_asked_three_times_in_all(shop, source, order, waits, status):
    shop.arm("status", status=status, count=None)
    before = rows()
    assert failed(source, order) == ("UNAVAILABLE", f"HTTP {status}", 3)
    assert [entry["status"] for entry in shop.log()] == [status] * 3
    assert len(waits) == 2
    assert all(0 <= wait <= LEDGER_SOURCE.wait_cap_seconds for wait in waits)
    assert rows() == before


@pytest.mark.parametrize("outages", [1, 2])
def test_a_short_outage_is_survived(shop, source, order, waits, outages):
    shop.arm("status", count=outages)
    assert isinstance(read(source, order), LedgerSnapshot)
    assert [entry["status"] for entry in shop.log()] == [503] * outages + [200]
    assert len(waits) == outages


def test_a_reset_connection_is_tried_again(shop, source, order):
    shop.arm("refused", count=None)
    kind, detail, attempts = failed(source, order)
    assert (kind, attempts) == ("CONNECTION", 3)
    assert detail in {"ReadError", "WriteError", "RemoteProtocolError"}
    assert len(shop.log()) == 3


def test_half_an_answer_is_tried_again(shop, source, order):
    shop.arm("cut", count=1)
    assert isinstance(read(source, order), LedgerSnapshot)
    assert [entry["fault"] for entry in shop.log()] == ["cut", None]


def test_a_shop_that_is_not_there_is_tried_again(order, waits):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    source = HttpLedgerSource(
        base_url=f"http://127.0.0.1:{port}", token="", timeout_seconds=1.0, sleep=waits.append
    )
    assert failed(source, order) == ("CONNECTION", "ConnectError", 3)
    assert len(waits) == 2


@pytest.mark.parametrize(("kind", "seconds"), [("slow", 60), ("drip", 0.05)])
def test_an_answer_that_does_not_end_in_time_is_cut_off_and_tried_again(shop, order, waits, kind, seconds):
    # The drops of an answer of some 1500 bytes come for over a minute, and each comes within the timeout.
    shop.arm(kind, seconds=seconds, count=None)
    source = short_patience(shop, waits)
    began = time.monotonic()
    assert failed(source, order) == ("TIMEOUT", "ReadTimeout", 3)
    assert time.monotonic() - began < 15  # three times 0.2 s, and much room for a busy machine
    assert len(shop.log()) == 3


@pytest.mark.parametrize(
    ("status", "kind", "detail"),
    [
        (401, "REFUSED", "HTTP 401"),
        (403, "REFUSED", "HTTP 403"),
        (404, "DISCREPANCY", "ORDER_UNKNOWN"),
        (400, "DISCREPANCY", "HTTP 400"),
        (429, "UNAVAILABLE", "HTTP 429"),
        (500, "UNAVAILABLE", "HTTP 500"),
    ],
)
def test_what_asking_again_would_not_change_is_asked_once(shop, source, order, waits, status, kind, detail):
    shop.arm("status", status=status, count=None)
    before = rows()
    assert failed(source, order) == (kind, detail, 1)
    assert (len(shop.log()), waits) == (1, [])
    assert rows() == before


def test_a_wrong_token_is_refused_and_not_tried_again(shop, order, waits):
    assert failed(short_patience(shop, waits, token="wrong"), order) == ("REFUSED", "HTTP 401", 1)
    assert [entry["authorized"] for entry in shop.log()] == [False]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx2.PoolTimeout("full"), SourceFailureKind.CONNECTION),
        (httpx2.ConnectTimeout("late"), SourceFailureKind.TIMEOUT),
        (httpx2.WriteTimeout("late"), SourceFailureKind.TIMEOUT),
        (httpx2.ConnectError("no"), SourceFailureKind.CONNECTION),
    ],
)
def test_an_exhausted_pool_and_every_timeout_may_be_tried_again(error, kind):
    explained = explain_error(error)
    assert (explained.kind, explained.detail, explained.passing) == (kind, type(error).__name__, True)


@pytest.mark.failure("F096")
def test_a_redirect_is_not_followed(shop, source, order, waits):
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.settimeout(0.2)
        shop.arm("redirect", location=f"http://127.0.0.1:{elsewhere.getsockname()[1]}/latest/meta-data/")
        assert failed(source, order) == ("DISCREPANCY", "HTTP 302", 1)
        with pytest.raises(TimeoutError):
            elsewhere.accept()
    assert (len(shop.log()), waits) == (1, [])


def test_a_proxy_that_the_environment_names_is_not_used(shop, source, order, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert isinstance(read(source, order), LedgerSnapshot)


@pytest.mark.django_db(transaction=True)
def test_it_refuses_to_speak_inside_a_transaction(shop, source, order):
    with transaction.atomic(), pytest.raises(OpenTransactionError):
        read(source, order)
    assert shop.log() == []
    refuse_open_transaction()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "shop.example.com",
        "ftp://shop.example.com",
        "https://",
        "https://a:b@shop.example.com",
        "https://s/?x=1",
    ],
)
def test_an_address_that_is_none_stops_the_start(address):
    with pytest.raises(ValueError):
        HttpLedgerSource(base_url=address, token="", timeout_seconds=1)


@pytest.mark.parametrize("token", ["two words", "line\r\nbreak", "ключ"])
def test_a_token_that_no_header_can_carry_stops_the_start(token):
    with pytest.raises(ValueError):
        HttpLedgerSource(base_url="https://shop.example.com", token=token, timeout_seconds=1)
