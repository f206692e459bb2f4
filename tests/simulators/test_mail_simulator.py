"""The demo's mail server, and the product's own e-mail channel against every way in which it can fail."""

import ast
import email
import email.policy
import http.client
import os
import smtplib
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError

import pytest

from notifications.channels.email import EmailChannel, backend_for
from notifications.channels.port import Delivery, DeliveryOutcome, OutgoingMessage
from tests.support.mail_simulator import MailSimulator
from tests.support.simulator_process import ROOT

PACKAGE = ROOT / "config" / "demo" / "mail_simulator"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailSimulator]:
    with MailSimulator(outbox=tmp_path_factory.mktemp("mail") / "outbox") as simulator:
        yield simulator


@pytest.fixture
def mail(running: MailSimulator) -> MailSimulator:
    running.reset()
    return running


def send(mail: MailSimulator, recipient: str = "ada@example.com", *, timeout: float = 5.0) -> Delivery:
    """Hand one message over through the product's channel."""
    channel = EmailChannel(
        connect=lambda: backend_for(f"{mail.url}?timeout={timeout}"),
        sender="Refund desk <refunds@example.com>",
    )
    return channel.send(
        OutgoingMessage(
            recipient=recipient,
            subject="Your refund of ¥500 was processed.",
            body="Reference: re_1 ✓\n",
            message_id="<refund.completed:rfop_1@example.com>",
        )
    )


def test_an_accepted_message_is_kept_and_written_as_a_file(mail: MailSimulator) -> None:
    assert send(mail) == Delivery(DeliveryOutcome.DELIVERED)
    (kept,) = mail.messages()
    assert kept["recipients"] == ["ada@example.com"]
    assert kept["sender"] == "refunds@example.com"
    assert kept["subject"] == "Your refund of ¥500 was processed."
    assert kept["body"].strip() == "Reference: re_1 ✓"
    assert kept["message_id"] == "<refund.completed:rfop_1@example.com>"
    (file,) = mail.outbox.glob("*")
    assert file.name == kept["file"]
    read = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
    assert (read["To"], read["Delivered-To"]) == ("ada@example.com", "ada@example.com")
    assert mail.messages("eve@example.com") == []


@pytest.mark.failure("F126")
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"kind": "temporary"}, "SMTP_421"),
        ({"kind": "temporary", "on": "mail"}, "SMTP_421"),
        ({"kind": "temporary", "on": "rcpt", "code": 451}, "SMTP_451"),
        ({"kind": "temporary", "on": "data", "code": 452}, "SMTP_452"),
        ({"kind": "drop", "on": "connect"}, "SMTPSERVERDISCONNECTED"),
        ({"kind": "drop", "on": "rcpt"}, "SMTPSERVERDISCONNECTED"),
        ({"kind": "drop", "on": "data"}, "SMTPSERVERDISCONNECTED"),
        ({"kind": "rejected", "on": "mail", "code": 530}, "SMTP_530"),
    ],
)
def test_what_may_work_later_is_transient_and_works_later(
    mail: MailSimulator, fault: dict, expected: str
) -> None:
    mail.control("POST", "faults", fault)
    assert send(mail) == Delivery(DeliveryOutcome.TRANSIENT, expected)
    assert mail.messages() == []
    assert send(mail).outcome is DeliveryOutcome.DELIVERED
    assert mail.connections() == 2


@pytest.mark.failure("F125")
@pytest.mark.failure("F126")
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"kind": "rejected"}, "SMTP_550"),
        ({"kind": "rejected", "code": 553}, "SMTP_553"),
        ({"kind": "rejected", "on": "data", "code": 554}, "SMTP_554"),
    ],
)
def test_a_refused_address_or_message_is_permanent(mail: MailSimulator, fault: dict, expected: str) -> None:
    mail.control("POST", "faults", fault | {"recipient": "Ada@example.com", "count": None})
    assert send(mail) == Delivery(DeliveryOutcome.PERMANENT, expected)
    assert send(mail) == Delivery(DeliveryOutcome.PERMANENT, expected)
    assert send(mail, "grace@example.com").outcome is DeliveryOutcome.DELIVERED
    assert [one["recipients"] for one in mail.messages()] == [["grace@example.com"]]


@pytest.mark.failure("F121")
@pytest.mark.parametrize("stage", ["connect", "mail", "rcpt", "data"])
def test_a_server_that_hangs_costs_the_timeout_and_is_transient(mail: MailSimulator, stage: str) -> None:
    mail.arm("hang", on=stage, seconds=60)
    began = time.monotonic()
    delivery = send(mail, timeout=0.4)
    assert time.monotonic() - began < 5
    assert delivery.outcome is DeliveryOutcome.TRANSIENT


def test_a_slow_server_still_delivers(mail: MailSimulator) -> None:
    mail.arm("hang", on="data", seconds=0.3)
    began = time.monotonic()
    assert send(mail).outcome is DeliveryOutcome.DELIVERED
    assert time.monotonic() - began >= 0.3


@pytest.mark.failure("F121")
def test_refused_connections_are_transient_until_the_door_is_open(mail: MailSimulator) -> None:
    mail.refuse_connections()
    assert send(mail) == Delivery(DeliveryOutcome.TRANSIENT, "CONNECTIONREFUSEDERROR")
    mail.disarm()
    assert send(mail).outcome is DeliveryOutcome.DELIVERED


def test_an_answer_lost_after_the_message_leaves_two_copies_with_one_id(mail: MailSimulator) -> None:
    mail.arm("drop_after_data")
    assert send(mail) == Delivery(DeliveryOutcome.TRANSIENT, "SMTPSERVERDISCONNECTED")
    assert send(mail).outcome is DeliveryOutcome.DELIVERED
    assert len({one["message_id"] for one in mail.messages()}) == 1
    assert len(mail.messages()) == 2


@pytest.mark.parametrize("kind", ["temporary", "drop"])
def test_how_the_goodbye_goes_changes_nothing(mail: MailSimulator, kind: str) -> None:
    mail.arm(kind, on="quit")
    assert send(mail) == Delivery(DeliveryOutcome.DELIVERED)
    assert len(mail.messages()) == 1


def test_faults_are_taken_in_order_and_as_often_as_they_say(mail: MailSimulator) -> None:
    mail.arm("temporary", count=2)
    mail.arm("rejected", recipient="ada@example.com")
    seen = [send(mail).detail for _ in range(4)]
    assert seen == ["SMTP_421", "SMTP_421", "SMTP_550", ""]
    assert mail.control("GET", "faults") == {"armed": [], "open": True}
    assert [entry["fault"] for entry in mail.log() if entry["fault"]] == [
        "temporary",
        "temporary",
        "rejected",
    ]


def test_many_at_once_are_all_kept(mail: MailSimulator) -> None:
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda number: send(mail, f"c{number}@example.com").outcome, range(24)))
    assert set(outcomes) == {DeliveryOutcome.DELIVERED}
    assert {one["recipients"][0] for one in mail.messages()} == {
        f"c{number}@example.com" for number in range(24)
    }


def test_messages_and_ports_survive_a_kill(tmp_path: Path) -> None:
    with MailSimulator(outbox=tmp_path / "outbox") as simulator:
        send(simulator)
        before = simulator.url
        simulator.kill()
        simulator.start()
        assert simulator.url == before
        assert send(simulator).outcome is DeliveryOutcome.DELIVERED
        assert len(simulator.messages()) == 2


def test_it_stops_cleanly_also_with_a_client_waiting(tmp_path: Path) -> None:
    with MailSimulator(outbox=tmp_path / "outbox") as simulator:
        simulator.arm("hang", on="mail", seconds=60)
        with smtplib.SMTP("127.0.0.1", simulator.smtp_port, timeout=20) as client:
            client.ehlo()
            client.putcmd("MAIL FROM:<refunds@example.com>")
            while simulator.log()[-1]["stage"] != "mail":
                time.sleep(0.01)
            began = time.monotonic()
            assert simulator.stop() == 0
            assert time.monotonic() - began < 5
            client.close()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("faults", {"kind": "earthquake"}),
        ("faults", {"kind": "temporary", "code": 550}),
        ("faults", {"kind": "rejected", "code": 421}),
        ("faults", {"kind": "hang", "seconds": -1}),
        ("faults", {"kind": "hang", "seconds": True}),
        ("faults", {"kind": "hang", "count": 0}),
        ("faults", {"kind": "hang", "on": "lunch"}),
        ("faults", {"kind": "hang", "colour": "blue"}),
        ("faults", {"kind": "rejected", "on": "connect", "recipient": "ada@example.com"}),
        ("faults", {"kind": "rejected", "recipient": 1}),
        ("faults", {"kind": "drop_after_data", "on": "rcpt"}),
        ("faults", []),
        ("door", {"open": "no"}),
        ("nothing", {}),
    ],
)
def test_control_requests_that_make_no_sense_change_nothing(
    mail: MailSimulator, path: str, value: object
) -> None:
    with pytest.raises(HTTPError) as refused:
        mail.control("POST", path, value)
    refused.value.close()
    assert refused.value.code == (404 if path == "nothing" else 400)
    assert mail.control("GET", "faults") == {"armed": [], "open": True}


def test_a_page_in_a_browser_cannot_arm_a_fault(mail: MailSimulator) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", mail.port, timeout=10)
    connection.request("POST", "/_sim/faults", '{"kind": "drop"}', {"Content-Type": "text/plain"})
    assert connection.getresponse().status == 415
    connection.close()
    assert mail.control("GET", "faults")["armed"] == []


@pytest.mark.parametrize("line", ["", "\x00\xff", "MAIL FROM", "RCPT TO:<x@example.com>", "Z" * 100_000])
def test_nothing_that_arrives_brings_it_down(mail: MailSimulator, line: str) -> None:
    with smtplib.SMTP("127.0.0.1", mail.smtp_port, timeout=10) as client:
        client.ehlo()
        client.sock.sendall(line.encode("latin-1") + b"\r\n")
        assert client.getreply()[0] >= 500
    assert send(mail).outcome is DeliveryOutcome.DELIVERED


def test_busy_ports_are_one_sentence_and_an_exit_code(mail: MailSimulator, tmp_path: Path) -> None:
    for http_port, smtp_port in ((mail.port, 0), (0, mail.smtp_port)):
        ended = subprocess.run(
            [
                *(sys.executable, "-m", "config.demo.mail_simulator", "--port", str(http_port)),
                *("--smtp-port", str(smtp_port), "--outbox", str(tmp_path)),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert ended.returncode == os.EX_UNAVAILABLE
        assert ended.stderr.startswith("mail simulator: cannot start: ports ")
        assert ended.stderr.count("\n") == 1


def test_it_imports_nothing_of_the_product() -> None:
    imported: set[str] = set()
    for file in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
    ours = {name for name in imported if name.partition(".")[0] not in sys.stdlib_module_names}
    allowed = (
        "config.demo.mail_simulator",
        "config.demo.simulator_faults",
        "config.demo.simulator_http",
        "aiosmtpd",
    )
    assert ours
    assert all(name.startswith(allowed) for name in ours)
