"""Two people decide at the same moment, in two real transactions."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client

from refunds.models import RefundWorkflow, RefundWorkflowEvent
from tests.console.conftest import ticket_of, waiting_request
from tests.factories import latest_approval, make_merchant, make_policy, make_staff

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.failure("F107")]


@pytest.mark.failure("F071")
@pytest.mark.parametrize("decisions", [("approve", "approve"), ("approve", "reject"), ("reject", "reject")])
def test_of_two_decisions_at_once_the_first_stands_and_the_second_is_told(decisions, monkeypatch):
    monkeypatch.setattr("refunds.console.views.send_nudges", lambda _nudges: None)
    merchant = make_merchant()
    make_policy(merchant=merchant)
    workflow = waiting_request(merchant)
    ticket, approval = ticket_of(workflow), latest_approval(workflow)
    clients = [Client(), Client()]
    for client in clients:
        client.force_login(make_staff(merchant=merchant))
    together = Barrier(2)

    def decide(client, decision):
        try:
            together.wait(timeout=20)
            reason = "DUPLICATE_CONFIRMED" if decision == "approve" else "NOT_A_DUPLICATE"
            entered = {
                "fingerprint": approval.request_fingerprint,
                "reason_code": reason,
                "note": "Compared.",
            }
            return client.post(f"/admin/review/{ticket}/{decision}/", entered).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        statuses = list(pool.map(decide, clients, decisions))
    assert sorted(statuses) == [302, 409]
    winner = decisions[statuses.index(302)]
    states = {"approve": ("APPROVED", "GRANTED"), "reject": ("REJECTED", "REJECTED")}
    stored = latest_approval(workflow)
    assert (RefundWorkflow.objects.get(pk=workflow.pk).state, stored.state) == states[winner]
    assert [event.voter_id for event in stored.events.all()].count("") == 2  # asked for, and decided once
    assert stored.events.exclude(voter_id="").count() == 1
    decided = RefundWorkflowEvent.objects.filter(workflow=workflow, from_state="REQUIRES_HUMAN_APPROVAL")
    assert decided.count() == 1
