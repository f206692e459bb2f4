"""What a customer writes: the words in an erasable row, their digest beside the evidence."""

from datetime import datetime
from typing import Final

from django.db.models import F

from ledger.models import ErasableText, text_sha256
from refunds.models import CustomerMessage, RefundWorkflow
from refunds.refusals import MessageRefusedError

MAX_MESSAGES: Final = 50  # of one request: what people can still read


def keep_message(*, workflow_id: str, message: str, now: datetime) -> None:
    """Keep the words of a request, in the caller's transaction."""
    text = ErasableText.keep(message, now=now)
    CustomerMessage.objects.create(workflow_id=workflow_id, text=text, text_sha256=text.sha256, at=now)


def add_contact(*, workflow_id: str, message: str, now: datetime) -> bool:
    """Keep more words of a locked request and count a repeat contact; the same words again change nothing.

    Return whether they were new; raise ``MessageRefusedError`` TOO_MANY_MESSAGES.
    """
    digests = set(
        CustomerMessage.objects.filter(workflow_id=workflow_id).values_list("text_sha256", flat=True)
    )
    if text_sha256(message) in digests:
        return False
    if len(digests) >= MAX_MESSAGES:
        raise MessageRefusedError("TOO_MANY_MESSAGES")
    keep_message(workflow_id=workflow_id, message=message, now=now)
    RefundWorkflow.objects.filter(pk=workflow_id).update(repeat_contacts=F("repeat_contacts") + 1)
    return True


def take_over_messages(*, workflow_id: str, from_workflow_id: str, now: datetime) -> None:
    """Keep the words of one locked request with another locked one as well, as one repeat contact of it.

    The text is not copied: erasing it erases it for both. Words that the other has already are left out.
    """
    known = CustomerMessage.objects.filter(workflow_id=workflow_id).values("text_sha256")
    more = CustomerMessage.objects.filter(workflow_id=from_workflow_id).exclude(text_sha256__in=known)
    for message in more.order_by("pk"):
        CustomerMessage.objects.create(
            workflow_id=workflow_id, text_id=message.text_id, text_sha256=message.text_sha256, at=now
        )
    RefundWorkflow.objects.filter(pk=workflow_id).update(repeat_contacts=F("repeat_contacts") + 1)
