"""The message that a customer gets: the words of the catalogue, and the way back to the page."""

import hashlib
from dataclasses import replace
from email.utils import parseaddr
from urllib.parse import urlsplit

from django.conf import settings
from django.template.loader import render_to_string

from notifications.catalogue import statement_for
from notifications.channels.port import OutgoingMessage
from notifications.facts import Receipt, StatedFacts
from notifications.models import Notification


def message_for(notification: Notification) -> OutgoingMessage:
    """Return the message of one logical event, worded from the facts that were true when it became due."""
    # The message is the receipt: what became of it is for the page to say.
    facts = replace(StatedFacts.from_json(notification.facts), receipt=Receipt.NONE)
    statement = statement_for(facts)
    customer = notification.customer
    body = render_to_string(
        "notifications/message.txt",
        {"statement": statement, "facts": facts, "link": _link(facts.reference, customer.merchant.host)},
    )
    return OutgoingMessage(
        recipient=customer.user.email if customer.user else "",
        subject=statement.heading,
        body=body.strip() + "\n",
        message_id=message_id_for(notification.logical_event_id),
    )


def message_id_for(logical_event_id: str) -> str:
    """Return the Message-ID of every attempt of a logical event, so that a repeat can be recognised as one."""
    digest = hashlib.sha256(logical_event_id.encode()).hexdigest()[:40]
    _, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    return f"<{digest}@{address.rpartition('@')[2] or 'localhost'}>"


def _link(reference: str, merchant_host: str) -> str:
    public = urlsplit(settings.PUBLIC_URL)
    port = f":{public.port}" if public.port else ""
    host = f"{merchant_host}{port}" if merchant_host else public.netloc
    return f"{public.scheme}://{host}/support/requests/{reference}/"
