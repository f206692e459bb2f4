"""What one automatic refund costs in SQL statements, step by step: a read that comes back shows here.

``BEGIN`` and ``COMMIT`` are counted, as the server counts them. ``make bench`` measures the same on a running product.
"""

import pytest
from django.test import Client
from knox.models import AuthToken

from config.demo.bench.statements import commits_of, recording
from ledger.clock import now_utc
from notifications.models import Notification
from refunds import pipeline, tasks
from refunds.gateways.fake import FakeGateway
from refunds.models import RefundWorkflow
from tests.factories import make_customer, make_duplicate_order, make_merchant, make_policy

BUDGET = {"ask": (8, 1), "advance": (31, 2), "submit": (29, 2), "deliver": (10, 2)}  # statements, commits
MOST_STATEMENTS, MOST_COMMITS = 78, 7


@pytest.mark.django_db(transaction=True)
def test_an_automatic_refund_stays_within_its_statements(settings):
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    merchant = make_merchant()
    make_policy(merchant=merchant)
    gateway = FakeGateway()
    _refund(make_customer(merchant=merchant), gateway)  # fills what a process reads once: the policy version

    costs = _refund(make_customer(merchant=merchant), gateway)

    listed = "\n".join(
        f"{step} {n:3} {s.kind:<42} {s.where}"
        for step, found in costs.items()
        for n, s in enumerate(found, 1)
    )
    spent = {step: (len(found), commits_of([s.sql for s in found])) for step, found in costs.items()}
    assert spent == BUDGET, listed
    assert sum(statements for statements, _ in spent.values()) <= MOST_STATEMENTS
    assert sum(commits for _, commits in spent.values()) <= MOST_COMMITS


def _refund(customer, gateway):
    """Take one request from its POST to its delivered message; return the statements of each step."""
    made = make_duplicate_order(customer=customer, now=now_utc())
    entry = made.refunded.entries.get()
    gateway.seed_payment(
        payment_reference=made.refunded.processor_reference,
        amount_minor_units=entry.amount_minor_units,
        currency=entry.currency,
    )
    _, token = AuthToken.objects.create(user=customer.user)
    client = Client(headers={"Authorization": f"Token {token}"})
    body = {"message": "I was charged twice.", "order_number": made.order.number}
    costs = {}
    with recording() as costs["ask"]:
        answer = client.post("/api/v1/refund-requests", body, content_type="application/json")
    workflow_id = answer.json()["workflow_id"]
    with recording() as costs["advance"]:
        (nudge,) = pipeline.advance_workflow(workflow_id=workflow_id, clock=now_utc)
    with recording() as costs["submit"]:
        pipeline.submit_operation(**nudge.kwargs, gateway=gateway, clock=now_utc)
    with recording() as costs["deliver"]:
        tasks.deliver_notifications()
    assert RefundWorkflow.objects.get(pk=workflow_id).state == "COMPLETED"
    assert Notification.objects.get(subject_id=workflow_id).delivered_at is not None
    return costs
