"""Nothing brings the simulator down, makes it forget, or opens it to others."""

import ast
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.simulators.raw import amounts, loses_its_answer, refund
from tests.support.gateway_simulator import GatewaySimulator

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = _ROOT / "config" / "demo" / "gateway_simulator"


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /v1/refunds HTTP/9.9\r\n\r\n",
        b"POST /v1/refunds HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/refunds HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/refunds HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /v1/refunds HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n",
        b"POST /v1/refunds HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/refunds HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc",
        b"POST /v1/refunds HTTP/1.1\r\nAuthorization: Bearer sk_test_1\r\nContent-Length: 4\r\n\r\n\xff\xfe%%",
        b"POST /v1/refunds HTTP/1.1\r\nAuthorization: Bearer sk_test_1\r\nContent-Length: 3\r\n\r\n&&&",
        b"POST /v1/refunds HTTP/1.1\r\nAuthorization: Bearer sk_test_1\r\nContent-Length: 12\r\n\r\ncharge=%ff%fe",
        b"GET /v1/refunds/%ff%00%ed%a0%80?a=%ff HTTP/1.1\r\nAuthorization: Bearer sk_test_1\r\n\r\n",
        b"GET /v1/refunds/%00 HTTP/1.1\r\nAuthorization: Bearer sk_test_1\r\n\r\n",
        b"POST /_sim/charges HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n[[[",
        b"POST /_sim/charges HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
        b'POST /_sim/refunds/x HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n"\\ud800"',
        b"POST /_sim/nothing HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
        b"GET /_sim HTTP/1.1\r\n\r\n",
        b"X" * 70_000,
    ],
)
def test_nothing_that_arrives_brings_it_down(gateway_simulator: GatewaySimulator, raw: bytes) -> None:
    with socket.create_connection(("127.0.0.1", gateway_simulator.port), timeout=10) as client:
        client.sendall(raw)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while data := client.recv(65536):
                answer += data
        except ConnectionResetError:  # it closed without reading everything, which is its right
            pass
    assert b" 200 " not in answer.split(b"\r\n")[0]
    assert b"has a bug" not in answer
    assert gateway_simulator.control("GET", "health")["pid"] == gateway_simulator.pid
    assert gateway_simulator.refunds() == []


def test_the_book_survives_a_restart_and_a_kill(tmp_path: Path) -> None:
    with GatewaySimulator(book=tmp_path / "deep" / "book.sqlite3") as simulator:
        simulator.seed_charge("ch_1", amount=5000)
        first = refund(simulator, "k", amount=100)
        port = simulator.port
        simulator.restart()
        assert simulator.port == port
        assert refund(simulator, "k", amount=100).body == first.body
        simulator.arm("hold")
        held = loses_its_answer(simulator, "k2", amount=200)
        simulator.wait_until_waiting()
        simulator.kill()  # booked, not answered
        held.join(10)
        simulator.start()
        assert amounts(simulator) == [100, 200]
        assert refund(simulator, "k2", amount=200).headers["idempotent-replayed"] == "true"
        assert [entry["outcome"] for entry in simulator.log()] == [
            "answered",
            "answered",
            "executing",
            "answered",
        ]


def test_what_was_executing_at_a_kill_is_not_booked_and_its_key_is_free(tmp_path: Path) -> None:
    with GatewaySimulator(book=tmp_path / "book.sqlite3") as simulator:
        simulator.seed_charge("ch_1", amount=5000)
        simulator.arm("delay_before")
        waiting = loses_its_answer(simulator, "k", amount=100)
        simulator.wait_until_waiting()
        simulator.kill()
        waiting.join(10)
        simulator.start()
        assert amounts(simulator) == []
        assert refund(simulator, "k", amount=100).status == 200


def test_it_stops_cleanly_also_with_requests_waiting(tmp_path: Path) -> None:
    with GatewaySimulator(book=tmp_path / "book.sqlite3") as simulator:
        simulator.seed_charge("ch_1", amount=5000)
        simulator.arm("hold")
        waiting = loses_its_answer(simulator, amount=100)
        simulator.wait_until_waiting()
        started = time.monotonic()
        assert simulator.stop() == 0
        assert time.monotonic() - started < 3
        waiting.join(10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["book.sqlite3"]


def _start(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "config.demo.gateway_simulator", *arguments],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.com", ""])
def test_it_serves_this_machine_only(tmp_path: Path, host: str) -> None:
    ended = _start("--port", "0", "--book", str(tmp_path / "book.sqlite3"), "--host", host)
    assert ended.returncode == os.EX_UNAVAILABLE
    assert "serves this machine only" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_busy_port_is_one_clear_line(gateway_simulator: GatewaySimulator, tmp_path: Path) -> None:
    ended = _start("--port", str(gateway_simulator.port), "--book", str(tmp_path / "book.sqlite3"))
    assert ended.returncode == os.EX_UNAVAILABLE
    assert ended.stderr.startswith("gateway simulator: cannot start: 127.0.0.1:")
    assert len(ended.stderr.splitlines()) == 1


def test_a_book_that_is_none_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "book.sqlite3").write_text("this is not a book, whatever its name says")
    ended = _start("--port", "0", "--book", str(tmp_path / "book.sqlite3"))
    assert ended.returncode == os.EX_UNAVAILABLE
    assert "cannot be opened" in ended.stderr


def test_it_runs_without_the_products_packages() -> None:
    script = (
        "import sys, config.demo.gateway_simulator.__main__;"
        "sys.exit(any(name in sys.modules for name in ('django', 'refunds', 'stripe', 'pydantic')))"
    )
    subprocess.run([sys.executable, "-c", script], cwd=_ROOT, check=True, timeout=30)


def test_it_imports_the_standard_library_and_itself() -> None:
    allowed = {*sys.stdlib_module_names, "config"}
    for path in _PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            assert {module.partition(".")[0] for module in modules} <= allowed, path.name
            assert all(
                module.startswith(
                    (
                        "config.demo.gateway_simulator",
                        "config.demo.simulator_faults",
                        "config.demo.simulator_http",
                    )
                )
                for module in modules
                if module.startswith("config")
            ), path.name
