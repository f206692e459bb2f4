"""E-mail, through Django's mail machinery; ``EMAIL_URL`` says where it goes.

``console:`` prints, ``file:///folder`` writes one ``.eml`` per message, ``smtp://`` and ``smtps://`` send. Over
``smtp://`` a password is only ever given after STARTTLS; ``?starttls=1`` asks for it without one.
"""

import contextlib
import smtplib
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.backends.console import EmailBackend as ConsoleBackend
from django.core.mail.backends.smtp import EmailBackend as SMTPBackend

from ledger.transaction_guard import refuse_open_transaction
from notifications.channels.eml_files import EmlFolderBackend
from notifications.channels.port import Delivery, DeliveryOutcome, OutgoingMessage

TIMEOUT_SECONDS: Final = 10
_SUBJECT_LENGTH: Final = 200
_PERMANENT_REPLY: Final = 500


class EmailChannel:
    """Delivers to an e-mail address; "delivered" means that the next mail server took responsibility."""

    name = "email"

    def __init__(self, *, connect: Callable[[], BaseEmailBackend], sender: str) -> None:
        self._connect = connect
        self._sender = sender

    @classmethod
    def from_settings(cls) -> "EmailChannel":
        """Return the channel that the deployment configured."""
        return cls(connect=lambda: backend_for(settings.EMAIL_URL), sender=settings.DEFAULT_FROM_EMAIL)

    def send(self, message: OutgoingMessage) -> Delivery:
        """Try once, with a limit on every wait, and say how it ended."""
        refuse_open_transaction()
        if not message.recipient:
            return Delivery(DeliveryOutcome.PERMANENT, "NO_ADDRESS")
        try:
            self._hand_over(message)
        except smtplib.SMTPException as error:
            return _explain(error)
        except OSError as error:
            return Delivery(DeliveryOutcome.TRANSIENT, type(error).__name__.upper())
        except (
            ValueError
        ):  # an address or header that cannot be written, BadHeaderError and UnicodeError included
            return Delivery(DeliveryOutcome.PERMANENT, "CANNOT_BE_WRITTEN")
        return Delivery(DeliveryOutcome.DELIVERED)

    def _hand_over(self, message: OutgoingMessage) -> None:
        mail = EmailMessage(
            subject=one_line(message.subject)[:_SUBJECT_LENGTH],
            body=message.body,
            from_email=self._sender,
            to=[message.recipient],
            headers={"Message-ID": message.message_id, "Auto-Submitted": "auto-generated"},
        )
        mail.message()  # a message that cannot be written is known before a server is asked
        backend = self._connect()
        try:
            backend.open()
            backend.send_messages([mail])
        finally:
            # The server has answered for the message by now; how the goodbye goes changes nothing.
            with contextlib.suppress(OSError, smtplib.SMTPException):
                backend.close()


def backend_for(email_url: str) -> BaseEmailBackend:
    """Return Django's mail backend for an ``EMAIL_URL``."""
    parts = urlsplit(email_url)
    if parts.scheme == "console":
        return ConsoleBackend()
    if parts.scheme == "file":
        return EmlFolderBackend(folder=unquote(parts.path))
    return SMTPBackend(**_smtp_options(email_url))


def configured_backend(**_options: Any) -> BaseEmailBackend:
    """Return the deployment's backend for mail that Django's apps send themselves (``EMAIL_BACKEND``)."""
    return backend_for(settings.EMAIL_URL)


def one_line(text: str) -> str:
    """Return the text as one line without control characters, so that no header can grow another."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _smtp_options(email_url: str) -> dict[str, Any]:
    parts = urlsplit(email_url)
    query = parse_qs(parts.query)
    secure = parts.scheme == "smtps"
    password = unquote(parts.password or "")
    return {
        "host": parts.hostname or "localhost",
        "port": parts.port or (465 if secure else 587 if password else 25),
        "username": unquote(parts.username or ""),
        "password": password,
        "use_ssl": secure,
        "use_tls": not secure and (bool(password) or query.get("starttls") == ["1"]),
        "timeout": float(query.get("timeout", [TIMEOUT_SECONDS])[0]),
    }


def _explain(error: smtplib.SMTPException) -> Delivery:
    """Classify by what SMTP says about this recipient and message; anything else may be set right by operators."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = [code for code, _ in error.recipients.values()]
        permanent = bool(codes) and all(code >= _PERMANENT_REPLY for code in codes)
        return _smtp(codes[0] if codes else 0, permanent=permanent)
    if isinstance(error, smtplib.SMTPDataError):
        return _smtp(error.smtp_code, permanent=error.smtp_code >= _PERMANENT_REPLY)
    if isinstance(error, smtplib.SMTPResponseException):
        return _smtp(error.smtp_code, permanent=False)
    return Delivery(DeliveryOutcome.TRANSIENT, type(error).__name__.upper())


def _smtp(code: int, *, permanent: bool) -> Delivery:
    outcome = DeliveryOutcome.PERMANENT if permanent else DeliveryOutcome.TRANSIENT
    return Delivery(outcome, f"SMTP_{code}")
