"""The charge was refunded in the provider's dashboard before our call."""

import http.client
from urllib.parse import urlencode

import pytest

from approvals.models import ReviewCase
from refunds.models import ReconciliationCheck, RefundOperationEvent, RefundWorkflowEvent
from refunds.states import HUMAN_WORKFLOW_STATES, TERMINAL_WORKFLOW_STATES
from tests.failures.driving import told, words_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.failure("F021")]


def refund_in_the_dashboard(desk, payment, amount=None):
    """Refund a charge as a person at the provider does: without a word of ours. Returns the refund's id."""
    form = {"charge": payment.processor_reference} | ({"amount": amount} if amount else {})
    connection = http.client.HTTPConnection("127.0.0.1", desk.sim.port, timeout=10)
    headers = {
        "Authorization": f"Bearer {desk.sim.api_key}",
        "Content-Type": "application/x-www-form-urlencoded",
        "Idempotency-Key": "by-hand",
    }
    connection.request("POST", "/v1/refunds", urlencode(form), headers)
    assert connection.getresponse().status == 200
    connection.close()
    return desk.sim.refunds()[0]["id"]


@pytest.mark.parametrize("amount", [None, 1000])
def test_a_charge_refunded_elsewhere_ends_in_the_true_state_after_one_post(desk, amount):
    made = desk.duplicate(desk.customer())
    elsewhere = refund_in_the_dashboard(desk, made.refunded, amount)
    by_hand = len(desk.posts())

    workflow_id = desk.ask(made.order)
    for _ in range(12):
        desk.later(hours=5)
        desk.scan()

    assert len(desk.posts()[by_hand:]) <= 1
    assert [refund["id"] for refund in desk.sim.refunds()] == [elsewhere]
    assert desk.workflow(workflow_id).state in TERMINAL_WORKFLOW_STATES | HUMAN_WORKFLOW_STATES
    # the evidence names the refund that was found, or says that the money went back elsewhere
    evidence = " ".join(
        str(value)
        for rows in (
            RefundOperationEvent.objects.values_list("reason", "evidence"),
            RefundWorkflowEvent.objects.values_list("reason", "evidence"),
            ReconciliationCheck.objects.values_list("sources", "explanation"),
            ReviewCase.objects.values_list("reason"),
        )
        for value in rows
    )
    assert elsewhere in evidence
    # the customer is told what is true: no refund of ours is confirmed, and none is called failed for no reason
    words = words_of(told(workflow_id))
    assert told(workflow_id)["status"]["key"] not in {"REFUND_CONFIRMED", "REFUND_DID_NOT_GO_THROUGH"}
    if amount is None:
        assert "already" in words
        assert "refunded" in words
