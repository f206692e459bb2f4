"""Two people decide at the same moment, in two real transactions."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client

from approvals.models import ApprovalRequest
from ledger.clock import now_utc
from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.casework.provider_evidence import ProviderStatement
from refunds.models import RefundOperation, RefundWorkflow, RefundWorkflowEvent
from refunds.states import OperationState
from tests.console.conftest import ticket_of, waiting_request
from tests.factories import (
    add_check,
    latest_approval,
    make_duplicate_order,
    make_merchant,
    make_policy,
    make_staff,
    operation_in_state,
)

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


@pytest.mark.failure("F071")
@pytest.mark.parametrize("decisions", [("confirm", "confirm"), ("confirm", "decline")])
def test_of_two_second_people_at_once_one_gives_the_operation_up_or_keeps_it(decisions, monkeypatch):
    monkeypatch.setattr("refunds.console.operation_work.send_nudges", lambda _nudges: None)
    merchant = make_merchant()
    make_policy(merchant=merchant)
    operation, proposal = proposed_cancellation(merchant, make_staff(merchant=merchant))
    ticket = ticket_of(operation.workflow)
    clients = [Client(), Client()]
    for client in clients:
        client.force_login(make_staff(merchant=merchant))
    together = Barrier(2)

    def decide(client, decision):
        try:
            together.wait(timeout=20)
            entered = {"fingerprint": proposal.request_fingerprint, "reason_code": "OTHER", "note": "Looked."}
            return client.post(f"/admin/review/{ticket}/{decision}/{proposal.pk}/", entered).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        statuses = list(pool.map(decide, clients, decisions))
    assert sorted(statuses) == [302, 409]
    winner = decisions[statuses.index(302)]
    ends = {"confirm": ("CANCELLED", "CONSUMED"), "decline": ("MANUAL_REVIEW", "REJECTED")}
    stored = RefundOperation.objects.get(pk=operation.pk)
    assert (stored.state, ApprovalRequest.objects.get(pk=proposal.pk).state) == ends[winner]
    assert proposal.events.exclude(voter_id="").count() == 1


def proposed_cancellation(merchant, proposer):
    """An operation of yesterday that nothing proves, and a colleague's proposal to give it up."""
    yesterday, now = now_utc() - timedelta(days=1), now_utc()
    order = make_duplicate_order(customer__merchant=merchant, now=yesterday).order
    operation = operation_in_state(OperationState.MANUAL_REVIEW, order=order, now=yesterday)
    add_check(operation, now=now)
    said = {"reason_code": "PROVIDER_HAS_NO_REFUND", "note": ""}
    action = CaseAction(ticket=ticket_of(operation.workflow), staff_user_id=proposer.pk, **said)
    pipeline.claim_case(action=action, now=now)
    found = ProviderStatement(source="REPORT", seen_at=now, provider_reference="rep_1", words="No refund.")
    approval_id = pipeline.propose_cancellation(
        action=action, operation_id=operation.pk, found=found, now=now
    )
    return operation, ApprovalRequest.objects.get(pk=approval_id)


@pytest.mark.failure("F071")
def test_one_person_in_two_tabs_proposes_once_and_confirms_nothing(monkeypatch):
    """Both tabs hold the same lease; whichever comes first ends it, and neither is the second person."""
    monkeypatch.setattr("refunds.console.operation_work.send_nudges", lambda _nudges: None)
    merchant = make_merchant()
    make_policy(merchant=merchant)
    yesterday = now_utc() - timedelta(days=1)
    order = make_duplicate_order(customer__merchant=merchant, now=yesterday).order
    operation = operation_in_state(OperationState.MANUAL_REVIEW, order=order, now=yesterday)
    add_check(operation, now=now_utc())
    person, ticket = make_staff(merchant=merchant), ticket_of(operation.workflow)
    tabs = [Client(), Client()]
    for tab in tabs:
        tab.force_login(person)
    tabs[0].post(f"/admin/review/{ticket}/claim/")
    together = Barrier(2)

    def press(tab):
        said = {
            "reason_code": "PROVIDER_HAS_NO_REFUND", "source": "REPORT", "provider_reference": "rep_1",
            "seen_at": f"{now_utc():%Y-%m-%dT%H:%M}", "words": "No refund.", "note": "",
        }  # fmt: skip
        try:
            together.wait(timeout=20)
            first = tab.post(f"/admin/review/{ticket}/give-up/{operation.pk}/", said).status_code
            proposal = ApprovalRequest.objects.get(subject_kind="EVIDENCE")
            decision = {
                "fingerprint": proposal.request_fingerprint,
                "reason_code": "EVIDENCE_CHECKED",
                "note": "",
            }
            return first, tab.post(f"/admin/review/{ticket}/confirm/{proposal.pk}/", decision).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        statuses = list(pool.map(press, tabs))
    assert sorted(statuses) == [(302, 409), (409, 409)]
    assert RefundOperation.objects.get(pk=operation.pk).state == "MANUAL_REVIEW"
    assert ApprovalRequest.objects.get(subject_kind="EVIDENCE").state == "PENDING"
