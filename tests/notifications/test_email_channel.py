import email
import email.policy
import time

import pytest
from django.core.mail.backends.console import EmailBackend as ConsoleBackend
from django.core.mail.backends.smtp import EmailBackend as SMTPBackend
from django.db import transaction

from ledger.transaction_guard import OpenTransactionError
from notifications.channels.email import EmailChannel, backend_for
from notifications.channels.port import Delivery, DeliveryOutcome, OutgoingMessage
from tests.support.smtp_server import smtp_server

SENDER = "Refund desk <refunds@example.com>"


def message(**fields):
    values = {
        "recipient": "ada@example.com",
        "subject": "Your refund of ¥500 was processed.",
        "body": "Reference: re_1\n",
        "message_id": "<1@example.com>",
    }
    return OutgoingMessage(**values | fields)


def channel(email_url):
    return EmailChannel(connect=lambda: backend_for(email_url), sender=SENDER)


def send_to(server, **fields):
    return channel(f"smtp://127.0.0.1:{server.port}?timeout=0.5").send(message(**fields))


def read(path):
    return email.message_from_bytes(path.read_bytes(), policy=email.policy.default)


def test_a_folder_gets_one_whole_file_per_message(tmp_path):
    folder = tmp_path / "out box"
    way = channel(f"file://{str(folder).replace(' ', '%20')}")
    assert [way.send(message()).outcome for _ in range(2)] == [DeliveryOutcome.DELIVERED] * 2
    files = sorted(folder.iterdir())
    assert [path.suffix for path in files] == [".eml", ".eml"]
    mail = read(files[0])
    assert mail["Message-ID"] == "<1@example.com>"
    assert mail["To"] == "ada@example.com"
    assert mail["From"] == SENDER
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Subject"] == "Your refund of ¥500 was processed."
    assert mail.get_content() == "Reference: re_1\n"


def test_a_folder_that_cannot_be_written_is_a_transient_error(tmp_path):
    (tmp_path / "file").write_text("")
    delivery = channel(f"file://{tmp_path}/file/folder").send(message())
    assert delivery == Delivery(DeliveryOutcome.TRANSIENT, "NOTADIRECTORYERROR")


def test_an_accepted_message_is_delivered_whatever_the_goodbye():
    with smtp_server(QUIT="DROP") as server:
        assert send_to(server) == Delivery(DeliveryOutcome.DELIVERED)
    assert len(server.messages) == 1
    assert b"Message-ID: <1@example.com>" in server.messages[0]


@pytest.mark.failure("F126")
@pytest.mark.failure("F121")
@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ({"RCPT": "550 no such user"}, Delivery(DeliveryOutcome.PERMANENT, "SMTP_550")),
        ({"MESSAGE": "554 refused"}, Delivery(DeliveryOutcome.PERMANENT, "SMTP_554")),
        ({"RCPT": "451 greylisted"}, Delivery(DeliveryOutcome.TRANSIENT, "SMTP_451")),
        ({"MESSAGE": "452 full"}, Delivery(DeliveryOutcome.TRANSIENT, "SMTP_452")),
        ({"MAIL": "421 closing"}, Delivery(DeliveryOutcome.TRANSIENT, "SMTP_421")),
        ({"MAIL": "530 sign in first"}, Delivery(DeliveryOutcome.TRANSIENT, "SMTP_530")),
        ({"CONNECT": "421 busy"}, Delivery(DeliveryOutcome.TRANSIENT, "SMTP_421")),
        ({"RCPT": "DROP"}, Delivery(DeliveryOutcome.TRANSIENT, "SMTPSERVERDISCONNECTED")),
    ],
)
def test_smtp_answers_are_classified(replies, expected):
    with smtp_server(**replies) as server:
        assert send_to(server) == expected


@pytest.mark.failure("F121")
def test_a_silent_server_costs_no_longer_than_the_timeout():
    with smtp_server(RCPT="HANG") as server:
        began = time.monotonic()
        delivery = send_to(server)
        assert time.monotonic() - began < 3
    assert delivery.outcome is DeliveryOutcome.TRANSIENT


def test_an_unreachable_server_is_a_transient_error():
    with smtp_server() as server:
        port = server.port
    delivery = channel(f"smtp://127.0.0.1:{port}?timeout=0.5").send(message())
    assert delivery == Delivery(DeliveryOutcome.TRANSIENT, "CONNECTIONREFUSEDERROR")


def test_a_subject_cannot_grow_a_header():
    with smtp_server() as server:
        assert send_to(server, subject="Hello\r\nBcc: eve@example.com\x00\u2028X: y").outcome == "DELIVERED"
    head = server.messages[0].split(b"\r\n\r\n")[0]
    assert b"\r\nBcc" not in head
    assert b"\r\nX:" not in head
    assert sum(line.startswith("RCPT") for line in (c.upper() for c in server.commands)) == 1


@pytest.mark.parametrize(
    "recipient", ["ada@example.com\nBcc: eve@example.com", "ada@example.com\r\nDATA", "a@b@c"]
)
def test_an_address_that_cannot_be_written_is_never_named_to_a_server(recipient):
    with smtp_server() as server:
        assert send_to(server, recipient=recipient) == Delivery(
            DeliveryOutcome.PERMANENT, "CANNOT_BE_WRITTEN"
        )
    assert [command for command in server.commands if command.lower() != "quit"] == []
    assert server.messages == []


@pytest.mark.django_db
def test_nothing_is_sent_inside_a_transaction(tmp_path):
    with transaction.atomic(), pytest.raises(OpenTransactionError):
        channel(f"file://{tmp_path}").send(message())
    assert list(tmp_path.iterdir()) == []


def test_the_url_chooses_the_backend():
    assert isinstance(backend_for("console:"), ConsoleBackend)
    plain = backend_for("smtp://mail.example.com")
    assert isinstance(plain, SMTPBackend)
    assert (plain.host, plain.port, plain.use_tls, plain.use_ssl, plain.timeout) == (
        "mail.example.com",
        25,
        False,
        False,
        10,
    )
    signed_in = backend_for("smtp://me%40example.com:p%2Fw@mail.example.com")
    assert (signed_in.username, signed_in.password) == ("me@example.com", "p/w")
    assert (signed_in.port, signed_in.use_tls) == (587, True)
    secure = backend_for("smtps://me:pw@mail.example.com")
    assert (secure.port, secure.use_tls, secure.use_ssl) == (465, False, True)
