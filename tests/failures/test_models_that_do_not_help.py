"""Models that hang, decline, are cut off or call tools: what a request comes to, and what it costs."""

import json
import time

import pytest

from approvals.models import ReviewCase
from ledger.models import AuditOutbox, ErasableText
from notifications.models import Notification
from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.metrics.collector import DeskCollector
from refunds.models import Proposal, RefundOperation, RefundWorkflowEvent
from refunds.nudges import advance
from tests.factories import latest_approval, make_staff
from tests.failures.driving import sent_form, told, words_of

pytestmark = pytest.mark.django_db(transaction=True)
REFUSED = ["EVIDENCE_PENDING", "EVIDENCE_VERIFIED", "ACTION_PROPOSED", "PROPOSAL_REJECTED", "MANUAL_REVIEW"]
SAID_BY_THE_MODEL = "I cannot help with that."  # in the simulator's refusal


def asked(desk, **columns):
    """Return the id of a request about a charge that was made twice, taken as far as it goes."""
    return desk.ask(desk.duplicate(desk.customer(), **columns).order)


def declined(desk):
    """Return the number of proposals that were declined in the last hour, by kind."""
    (family,) = (
        family
        for family in DeskCollector(clock=lambda: desk.now).collect()
        if family.name == "refund_desk_proposals_declined_recent"
    )
    return {sample.labels["kind"]: sample.value for sample in family.samples if sample.value}


def handed_over(desk, workflow_id, *, detail):
    """The request belongs to people with what the model's answer was, no operation exists and nothing was sent."""
    proposal = Proposal.objects.get(workflow_id=workflow_id)
    assert (proposal.detail, proposal.recommended_action) == (detail, "")
    assert desk.story(workflow_id) == (REFUSED, [])
    assert ReviewCase.objects.get(subject_id=workflow_id, closed_at=None)
    assert desk.posts() == []
    assert desk.workflow(workflow_id).finding == "VERIFIED_DUPLICATE_CHARGE"
    return proposal


@pytest.mark.failure("F078")
def test_a_model_that_never_answers_costs_its_deadline_and_rules_go_on(desk, model, settings):
    settings.ASSISTANT_DEADLINE_SECONDS = 1.5
    model.arm("slow", seconds=60, count=None)
    made = desk.duplicate(desk.customer())

    workflow_id = desk.ask(made.order, run=False)
    assert model.log() == []  # who asks on the page waits for no model

    started = time.monotonic()
    nudges = desk.run_one(advance(workflow_id))
    assert time.monotonic() - started < 1.5 + 3  # the deadline, and what a busy machine takes for the rest

    assert len(model.log()) <= 3
    proposal = Proposal.objects.get()
    assert (proposal.proposer, proposal.requests) == ("deterministic", len(model.log()))
    event = RefundWorkflowEvent.objects.get(to_state="ACTION_PROPOSED")
    assert event.evidence["unavailable"] == ["demo-proposer-1:TIMEOUT"]
    desk.run(nudges)
    assert desk.workflow(workflow_id).state == "COMPLETED"
    assert len(desk.posts()) == 1
    desk.assert_books_agree()


@pytest.mark.failure("F080")
def test_an_answer_that_is_always_cut_off_is_not_asked_for_again(desk, model):
    model.arm("truncation", count=None)
    workflow_id = asked(desk)
    handed_over(desk, workflow_id, detail="TRUNCATED")
    assert len(model.log()) == 1


@pytest.mark.failure("F080")
def test_an_answer_whose_form_never_gets_better_ends_after_two_repairs(desk, model):
    model.arm("missing_field", count=None)
    workflow_id = asked(desk)
    proposal = handed_over(desk, workflow_id, detail="MISSING_FIELD")
    assert (proposal.output_class, proposal.requests, len(model.log())) == ("REPAIRABLE", 3, 3)


@pytest.mark.failure("F081")
def test_a_refusal_is_one_call_and_a_hand_off_in_neutral_words(desk, model, caplog):
    caplog.set_level("DEBUG")
    model.arm("refusal", count=None)
    workflow_id = asked(desk)

    proposal = handed_over(desk, workflow_id, detail="REFUSAL")
    assert len(model.log()) == 1
    assert ErasableText.objects.filter(body__contains=SAID_BY_THE_MODEL).count() <= 1
    kept_elsewhere = [
        *(json.dumps(row.evidence) for row in RefundWorkflowEvent.objects.all()),
        *(json.dumps(row.payload) for row in AuditOutbox.objects.all()),
        *(json.dumps(row.facts) for row in Notification.objects.all()),
        caplog.text,
        json.dumps(told(workflow_id)),
        proposal.detail,
    ]
    assert not any(SAID_BY_THE_MODEL in text for text in kept_elsewhere)
    words = words_of(told(workflow_id)).lower()
    assert not any(word in words for word in ("refus", "declin", "reject", "cannot", "model"))


@pytest.mark.failure("F083")
def test_a_filtered_answer_is_an_outcome_and_never_that_nothing_is_due(desk, model):
    model.arm("content_filter", count=None)
    workflow_id = asked(desk)

    handed_over(desk, workflow_id, detail="CONTENT_FILTER")
    assert declined(desk) == {"CONTENT_FILTER": 1}
    assert not any("no_refund_due" in message for message in desk.messages())


@pytest.mark.failure("F086")
@pytest.mark.parametrize("name", ["refund_now", "search_orders", "../../etc"])
def test_an_invented_tool_is_a_rejected_proposal_without_a_second_prompt(desk, model, name):
    model.arm("tool_calls", name=name, count=None)
    workflow_id = asked(desk)

    handed_over(desk, workflow_id, detail="TOOL_CALL")
    (entry,) = model.log()
    assert not {"tools", "tool_choice", "functions"} & set(entry["body"])
    assert declined(desk) == {"TOOL_CALL": 1}
    assert told(workflow_id)["operation"] is None


@pytest.mark.failure("F087")
def test_the_same_call_five_times_is_no_operation_and_afterwards_one(desk, model):
    model.arm("tool_calls", copies=5)
    workflow_id = asked(desk)
    handed_over(desk, workflow_id, detail="TOOL_CALL")

    approved_by_people(desk, workflow_id)

    assert desk.workflow(workflow_id).state == "COMPLETED"
    assert RefundOperation.objects.count() == len(desk.posts()) == 1
    desk.assert_books_agree()


@pytest.mark.failure("F089")
def test_a_model_that_asks_for_its_tool_again_names_no_identity(desk, model):
    """The call is lost, the model makes it again and again: the refund's identity comes from the request's own rows."""
    workflow_id = None
    for number in range(3):
        model.arm("tool_calls", name=f"refund_{number}", copies=number + 1)
        if workflow_id is None:
            workflow_id = asked(desk)
        else:
            desk.run(read_again(desk, workflow_id))
        assert RefundOperation.objects.count() == 0

    approved_by_people(desk, workflow_id)
    for _ in range(3):  # the same message of the broker, and a model that would call again
        model.arm("tool_calls", count=None)
        desk.run([advance(workflow_id)])

    operation = desk.operation(workflow_id)
    (post,) = desk.posts()
    assert operation.idempotency_key == f"refund:{operation.pk}"
    assert sent_form(post)["metadata[refund_operation_id]"] == operation.pk
    assert "ch_made_up" not in post["body"]
    assert (operation.amount_minor_units, operation.state) == (
        desk.workflow(workflow_id).amount_minor_units,
        "COMPLETED",
    )
    desk.assert_books_agree()


def read_again(desk, workflow_id):
    """Let a person take the request and have its evidence read anew."""
    merchant = desk.workflow(workflow_id).merchant
    staff = make_staff(merchant=merchant)
    ticket = ReviewCase.objects.get(subject_id=workflow_id, closed_at=None).ticket
    said = {"reason_code": "RECORDS_CORRECTED", "note": "The model was out of order."}
    pipeline.claim_case(action=CaseAction(ticket=ticket, staff_user_id=staff.pk), now=desk.now)
    action = CaseAction(ticket=ticket, staff_user_id=staff.pk, **said)
    return pipeline.read_evidence_again(action=action, now=desk.now)


def approved_by_people(desk, workflow_id):
    """Let people have it read again, by an honest model now, and approve the command."""
    desk.run(read_again(desk, workflow_id))
    workflow = desk.workflow(workflow_id)
    assert workflow.state == "REQUIRES_HUMAN_APPROVAL"
    approval = latest_approval(workflow)
    nudges = pipeline.decide(
        approval_id=approval.pk,
        decision="approve",
        staff_user_id=make_staff(merchant=workflow.merchant).pk,
        fingerprint=approval.request_fingerprint,
        reason_code="DUPLICATE_CONFIRMED",
        note="Compared both charges.",
        now=desk.now,
    )
    desk.run(nudges)
