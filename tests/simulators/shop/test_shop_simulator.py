"""The demo's shop: the documented format out of a book, knobs for trouble, facts that can change, its own process."""

import ast
import http.client
import json
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode

import pytest

from tests.support.shop_simulator import ShopSimulator

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "config" / "demo" / "shop_simulator"
DEMO_BOOK = ROOT / "config" / "demo" / "data" / "ledger.json"


@pytest.fixture(scope="module")
def running():
    with ShopSimulator(book=DEMO_BOOK) as simulator:
        yield simulator


@pytest.fixture
def shop(running):
    running.reset()
    return running


def ask(shop, number, *, merchant="harbour-home", token=None):
    connection = http.client.HTTPConnection("127.0.0.1", shop.port, timeout=10)
    try:
        query = urlencode({"merchant": merchant, "number": number})
        headers = {"Authorization": f"Bearer {shop.token if token is None else token}"}
        connection.request("GET", f"/orders?{query}", headers=headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def document(shop, number, **more):
    status, body = ask(shop, number, **more)
    assert status == 200
    return json.loads(body)


def order(number="9001", **values):
    return {
        "merchant": "harbour-home",
        "number": number,
        "customer": "C-9",
        "placed_at": "-1h",
        "payments": [],
    } | values


def test_the_demos_book_is_served_with_times_instead_of_ages(shop):
    answer = document(shop, "2841")
    first = answer["orders"][0]
    assert (first["number"], first["customer"], first["total_minor_units"]) == ("2841", "C-1001", 4999)
    assert [len(payment["entries"]) for payment in first["payments"]] == [1, 1]
    now = datetime.now(UTC)
    assert abs(now - datetime.fromisoformat(answer["taken_at"])) < timedelta(minutes=5)
    age = now - datetime.fromisoformat(first["placed_at"])
    assert timedelta(hours=28) <= age < timedelta(hours=29)


def test_only_the_same_customers_orders_around_it_come_along(shop):
    orders = document(shop, "2841")["orders"]
    assert {row["customer"] for row in orders} == {"C-1001"}
    assert len(orders) > 1
    placed = datetime.fromisoformat(orders[0]["placed_at"])
    assert all(abs(datetime.fromisoformat(row["placed_at"]) - placed) <= timedelta(days=7) for row in orders)


def test_another_merchants_and_an_unknown_order_are_answered_alike(shop):
    assert ask(shop, "2841", merchant="nordlys-audio") == ask(shop, "0")
    assert ask(shop, "0")[0] == 404


def test_without_the_token_nothing_is_told_and_the_token_is_not_logged(shop):
    assert ask(shop, "2841", token="guess")[0] == 401
    (entry,) = shop.log()
    assert (entry["authorized"], entry["status"], entry["fault"]) == (False, 401, None)
    assert "guess" not in json.dumps(shop.log())


def test_a_fault_holds_for_so_many_requests_of_its_order(shop):
    shop.arm("status", status=504, order="2843", count=2)
    assert [ask(shop, number)[0] for number in ("2841", "2843", "2843", "2843")] == [200, 504, 504, 200]
    assert [entry["fault"] for entry in shop.log()] == [None, "status", "status", None]


def test_a_fault_without_a_count_holds_until_it_is_cleared(shop):
    shop.arm("status", count=None)
    assert [ask(shop, "2841")[0] for _ in range(3)] == [503] * 3
    shop.disarm()
    assert ask(shop, "2841")[0] == 200


def test_a_refused_connection_is_reset(shop):
    shop.arm("refused")
    with pytest.raises(ConnectionResetError):
        ask(shop, "2841")
    assert shop.log()[0]["status"] is None


@pytest.mark.parametrize("kind", ["malformed", "deep", "not_a_number", "compressed"])
def test_a_body_can_be_none_that_strict_readers_take(shop, kind):
    shop.arm(kind)
    status, body = ask(shop, "2841")
    assert status == 200

    def refuse(name):
        raise ValueError(name)

    with pytest.raises((ValueError, RecursionError)):
        json.loads(body, parse_constant=refuse)


def test_a_body_can_say_a_key_twice(shop):
    shop.arm("repeated_key")
    pairs = json.loads(ask(shop, "2841")[1], object_pairs_hook=list)
    assert [name for name, _ in pairs] == ["taken_at", "orders", "orders"]


def test_a_body_can_be_five_megabytes(shop):
    shop.arm("oversized")
    assert len(ask(shop, "2841")[1]) > 5 * 1024 * 1024


def test_an_answer_can_stop_in_the_middle(shop):
    shop.arm("cut")
    with pytest.raises(http.client.IncompleteRead):
        ask(shop, "2841")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("wrong_customer", "customer"),
        ("wrong_merchant", "merchant"),
        ("wrong_order", "number"),
        ("wrong_total", "total_minor_units"),
    ],
)
def test_a_document_can_tell_of_something_else(shop, kind, name):
    honest = document(shop, "2841")["orders"][0]
    shop.arm(kind)
    wrong = document(shop, "2841")["orders"][0]
    assert {key for key in honest if honest[key] != wrong[key]} == {name}


def test_a_document_can_be_old(shop):
    shop.set_clock(datetime(2026, 1, 2, tzinfo=UTC))
    shop.arm("stale", seconds=3600)
    assert document(shop, "2841")["taken_at"] == "2026-01-01T23:00:00+00:00"


def test_facts_change_by_control_and_a_reset_brings_the_book_back(shop):
    named = {"merchant": "harbour-home", "number": "2841"}
    refund = {"kind": "REFUND", "reference": "re_1", "status": "PENDING", "amount_minor_units": 1}
    shop.control(
        "POST", "entries", {**named, "payment": "ch_demo_2841_2", "entry": {**refund, "currency": "USD"}}
    )
    shop.control(
        "POST", "entries", {**named, "payment": "ch_demo_2841_2", "entry": refund | {"status": "FAILED"}}
    )
    shop.control("POST", "payments", {**named, "payment": {"reference": "ch_3", "entries": []}})
    shop.control("POST", "change", {**named, "set": {"status": "CANCELLED"}})
    changed = document(shop, "2841")["orders"][0]
    assert changed["status"] == "CANCELLED"
    assert [payment["reference"] for payment in changed["payments"]][2:] == ["ch_3"]
    assert [entry["status"] for entry in changed["payments"][1]["entries"]] == ["SUCCEEDED", "FAILED"]
    shop.reset()
    assert len(document(shop, "2841")["orders"][0]["payments"]) == 2


def test_orders_can_be_added_and_replaced(shop):
    assert shop.control("POST", "orders", {"orders": [order()]}) == {"orders": 1}
    shop.control("POST", "orders", {"orders": [order(status="SHIPPED")]})
    assert document(shop, "9001")["orders"][0]["status"] == "SHIPPED"
    assert len([row for row in shop.control("GET", "orders")["orders"] if row["number"] == "9001"]) == 1


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("faults", {"kind": "earthquake"}),
        ("faults", {"kind": "slow", "seconds": -1}),
        ("faults", {"kind": "slow", "seconds": "1"}),
        ("faults", {"kind": "status", "status": 200}),
        ("faults", {"kind": "status", "count": 0}),
        ("faults", {"kind": "redirect", "location": "a\r\nb"}),
        ("faults", []),
        ("orders", {"orders": [{"number": "1"}]}),
        ("orders", {"orders": [order(placed_at="yesterday")]}),
        ("orders", None),
        ("change", {"merchant": "harbour-home", "number": "2841", "set": {"number": "1"}}),
        ("change", {"merchant": "harbour-home", "number": "none", "set": {}}),
        (
            "entries",
            {"merchant": "harbour-home", "number": "2841", "payment": "ch_0", "entry": {"reference": "r"}},
        ),
        ("payments", {"merchant": "harbour-home", "number": "2841", "payment": {}}),
        ("payments", []),
        ("clock", {"now": "2026-01-01T00:00:00"}),
        ("clock", None),
    ],
)
def test_a_wrong_control_request_is_answered_with_a_sentence_and_changes_nothing(shop, path, value):
    before = shop.control("GET", "orders")
    with pytest.raises(HTTPError) as caught:
        shop.control("POST", path, value)
    with caught.value as answer:
        assert answer.code == 400
        assert json.load(answer)["error"]["message"]
    assert shop.control("GET", "orders") == before
    assert shop.control("GET", "faults") == {"armed": []}


def test_another_site_in_a_browser_cannot_control_it(shop):
    connection = http.client.HTTPConnection("127.0.0.1", shop.port, timeout=10)
    connection.request("POST", "/_sim/reset", body="{}", headers={"Content-Type": "text/plain"})
    assert connection.getresponse().status == 415
    connection.close()


def test_a_restarted_shop_has_what_its_book_says(tmp_path):
    book = tmp_path / "book.json"
    book.write_text(json.dumps({"orders": [order()]}))
    with ShopSimulator(book=book) as shop:
        written = book.read_bytes()
        shop.control("POST", "orders", {"orders": [order("9002")]})
        port = shop.port
        shop.restart()
        assert shop.port == port
        assert (ask(shop, "9001")[0], ask(shop, "9002")[0]) == (200, 404)
        assert book.read_bytes() == written
        assert shop.stop() == os.EX_OK


def run(*arguments):
    command = [sys.executable, "-m", "config.demo.shop_simulator", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_a_book_that_cannot_be_read_and_a_busy_port_stop_the_start_with_one_line(tmp_path):
    broken = tmp_path / "book.json"
    broken.write_text("{")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments in (
            ("--port", "0", "--book", str(broken)),
            ("--port", "0", "--book", str(tmp_path / "none.json")),
            ("--port", port),
            ("--port", "70000"),
        ):
            done = run(*arguments)
            assert (done.returncode, done.stdout) == (os.EX_UNAVAILABLE, "")
            assert done.stderr.startswith("shop simulator: cannot start: ")
            assert done.stderr.count("\n") == 1


def test_a_stop_does_not_wait_for_a_slow_answer():
    with ShopSimulator(book=DEMO_BOOK) as shop:
        shop.arm("slow", seconds=600)
        with socket.create_connection(("127.0.0.1", shop.port)) as client:
            query = "/orders?merchant=harbour-home&number=2841"
            client.sendall(
                f"GET {query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {shop.token}\r\n\r\n".encode()
            )
            while not shop.log():
                pass
            assert shop.stop() == os.EX_OK


def test_it_imports_nothing_of_the_product():
    own = {"refunds", "approvals", "notifications", "policies", "ledger", "django", "tests"}
    for file in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert own.isdisjoint(name.partition(".")[0] for name in names)
