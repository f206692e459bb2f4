"""Requests that wait for their customer to name an order."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from ledger.actors import Actor
from ledger.ids import new_id, new_reference
from ledger.models import Customer
from ledger.transitions import Why, create_with_event
from refunds.models import RefundWorkflow
from tests.factories.facts import NOW
from tests.factories.workflows import add_message


def open_without_order(
    *, customer: Customer, message: str = "I was charged twice.", now: datetime = NOW, **columns: Any
) -> RefundWorkflow:
    """Return a customer's request without an order; it waits for 14 days."""
    workflow = RefundWorkflow(
        id=new_id("wf"),
        reference=new_reference(),
        merchant=customer.merchant,
        customer=customer,
        problem="DUPLICATE_CHARGE",
        created_at=now,
        **{"next_attempt_at": now + timedelta(days=14), **columns},
    )
    why = Why(actor=Actor.customer(customer.user_id), stage="OPEN_WORKFLOW", reason="REQUESTED")
    with transaction.atomic():
        create_with_event(workflow, why, now=now)
        add_message(workflow, message, now=now)
    return workflow
