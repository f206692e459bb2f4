"""What a model made of a message."""

from typing import Any

from refunds.models import MessageReading, RefundWorkflow
from tests.factories.facts import NOW


def make_reading(workflow: RefundWorkflow, **columns: Any) -> MessageReading:
    """Return a reading of a request's newest message: a double charge, and no order, unless given."""
    read = {
        "reader": "model-1",
        "model_snapshot": "model-1-2026",
        "prompt_version": "read_message/1",
        "output_sha256": "d" * 64,
        "output_class": "VALID",
        "intent": "refund_duplicate_charge",
        "problem": "duplicate_charge",
        "language": "en",
        "at": NOW,
    }
    newest = workflow.messages.order_by("pk").last()
    return MessageReading.objects.create(workflow=workflow, message=newest, **(read | columns))
