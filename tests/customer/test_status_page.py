import re
from datetime import timedelta

import pytest
from django.db import transaction

from ledger.actors import Actor
from ledger.models import ErasableText
from ledger.transitions import Why, commit_transition, lock_row
from notifications.channels.port import Delivery, DeliveryOutcome
from notifications.models import Notification
from notifications.services import queue_notification, record_attempt
from refunds.facts import stated_facts
from refunds.models import GatewayResponse, RefundOperation
from refunds.states import OperationState, WorkflowState
from tests.customer.pages import text_of
from tests.factories import (
    NOW,
    add_check,
    add_message,
    make_customer,
    make_duplicate_order,
    make_entry,
    make_order,
    make_payment,
    move_operation,
    move_workflow,
    open_workflow,
    operation_in_state,
    workflow_in_state,
)


def address(workflow):
    return f"/support/requests/{workflow.reference}/"


def page_of(client, workflow):
    client.force_login(workflow.customer.user)
    return client.get(address(workflow))


def test_a_new_request_says_what_is_known_and_no_more(client, order):
    page = page_of(client, open_workflow(order=order, message="I was <i>charged</i> twice."))
    text = text_of(page)
    assert page.status_code == 200
    assert "We've received your request." in text
    assert "Nothing has been refunded yet." in text
    assert "Refresh" in text
    assert "Last checked" not in text
    assert "28 Nov 2026, 10:00 UTC We saved your request." in text
    assert "I was <i>charged</i> twice." in text
    assert "<i>" not in page.content.decode()
    assert page.headers["Cache-Control"] == "private, no-store"


def test_steps_mark_the_current_one_in_words_and_for_machines(client, db):
    html = page_of(client, workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL)).content.decode()
    assert html.count('aria-current="step"') == 1
    steps = re.findall(
        r'<li( aria-current="step")?><span class="step">(\w+)</span> <span class="note">([^<]+)', html
    )
    assert steps == [
        ("", "Received", "done"),
        ("", "Checking", "done"),
        (' aria-current="step"', "Decision", "with our team"),
        ("", "Refund", "not yet"),
    ]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (OperationState.CREATED, "Refund now"),
        (OperationState.STATUS_UNKNOWN, "Refund being verified"),
        (OperationState.MANUAL_REVIEW, "Refund with our team"),
        (OperationState.COMPLETED, "Refund finished"),
    ],
)
def test_the_step_of_the_refund_says_how_it_stands(client, db, state, words):
    assert words in text_of(page_of(client, operation_in_state(state).workflow))


def test_last_checked_is_when_the_desk_read_and_not_when_the_source_confirmed(client, db):
    workflow = make_workflow()
    move_workflow(workflow, WorkflowState.EVIDENCE_VERIFIED, snapshot_taken_at=NOW - timedelta(days=2))
    workflow.refresh_from_db()
    assert (workflow.snapshot_taken_at, workflow.created_at) == (NOW - timedelta(days=2), NOW)
    assert stated_facts(workflow).last_checked_at == NOW
    assert "Last checked: 28 Nov 2026, 10:00 UTC" in text_of(page_of(client, workflow))


def test_a_refund_that_was_never_sent_is_not_told_as_the_processors_refusal(client, db):
    workflow = refused_operation(http_status=None).workflow
    text = text_of(page_of(client, workflow))
    facts = stated_facts(workflow)
    assert (facts.provider_answered, facts.refused_before_sending) == (False, True)
    assert "We could not send this refund. Nothing was sent to our payment processor" in text
    assert "We could not send the refund. Nothing was sent." in text
    assert "did not accept" not in text
    assert "We began to send" not in text


def test_a_refusal_by_the_processor_is_told_as_one_before_the_request_is_passed_on(client, db):
    workflow = refused_operation(http_status=400).workflow
    facts = stated_facts(workflow)
    assert (facts.provider_answered, facts.refused_before_sending) == (True, False)
    page = page_of(client, workflow)
    assert "Our payment processor did not accept this refund." in text_of(page)
    assert [line.key for line in page.context["report"].timeline] == [
        "REQUEST_SAVED",
        "PAYMENTS_COMPARED",
        "REFUND_APPROVED",
        "SENDING_STARTED",
        "NOT_ACCEPTED",
        "PASSED_TO_PEOPLE",
    ]


@pytest.mark.parametrize("earlier", [429, None])
def test_nothing_was_sent_is_said_only_if_no_attempt_reached_the_processor(db, earlier):
    operation = operation_in_state(OperationState.SUBMITTED)
    answer(operation, "NOT_EXECUTED", earlier)
    move_operation(operation, OperationState.CREATED)
    move_operation(operation, OperationState.SUBMITTED)
    answer(operation, "REFUSED", None)
    facts = stated_facts(operation.workflow)
    assert (facts.provider_answered, facts.refused_before_sending) == (False, earlier is None)


def test_an_attempt_without_an_answer_is_never_told_as_unsent(db):
    facts = stated_facts(operation_in_state(OperationState.SUBMITTED).workflow)
    assert (facts.provider_answered, facts.refused_before_sending) == (False, False)


def test_a_closed_request_shows_what_was_not_needed_and_offers_no_check(client, db):
    text = text_of(page_of(client, workflow_in_state(WorkflowState.REJECTED)))
    assert "We did not approve this refund." in text
    assert "Decision finished Refund not needed" in text
    assert "Refresh" not in text


def test_a_lost_answer_is_being_verified_with_the_times_of_the_schedule(client, db):
    operation = operation_in_state(OperationState.STATUS_UNKNOWN)
    add_check(operation, now=NOW - timedelta(minutes=1))
    type(operation).objects.filter(pk=operation.pk).update(next_check_at=NOW)
    text = text_of(page_of(client, operation.workflow))
    assert "verifying its status with our payment processor" in text
    assert "Asking again won't create a second refund." in text
    assert "Last checked: 28 Nov 2026, 09:59 UTC Next check planned for: 28 Nov 2026, 10:00 UTC" in text
    assert "We did not get a final answer, so we began verifying the refund's status." in text
    assert "failed" not in text.lower()
    assert "sent again" not in text.lower()


@pytest.mark.parametrize("state", OperationState)
def test_only_a_completed_operation_reads_as_a_refund(client, db, state):
    operation = operation_in_state(state)
    text = text_of(page_of(client, operation.workflow))
    assert ("was processed" in text) is (state is OperationState.COMPLETED)
    assert ("Our payment processor confirmed the refund." in text) is (state is OperationState.COMPLETED)


@pytest.mark.parametrize("state", WorkflowState)
def test_every_state_of_a_request_has_a_page(client, db, state):
    assert page_of(client, workflow_in_state(state)).status_code == 200


def test_a_receipt_that_is_delayed_leaves_the_reference_on_the_page(client, db):
    operation = operation_in_state(OperationState.COMPLETED)
    workflow = operation.workflow
    queue_notification(
        logical_event_id=f"refund.completed:{operation.pk}",
        customer_id=workflow.customer_id,
        subject_id=workflow.pk,
        facts=stated_facts(workflow),
        now=NOW,
    )
    assert "was processed" in text_of(page_of(client, workflow))
    row = Notification.objects.get()
    for outcome, words in (
        (DeliveryOutcome.TRANSIENT, "The receipt e-mail is delayed"),
        (DeliveryOutcome.DELIVERED, "We sent the receipt by e-mail."),
    ):
        record_attempt(
            notification_id=row.pk, channel="fake", message_id="<1@x>", delivery=Delivery(outcome), now=NOW
        )
        text = text_of(page_of(client, workflow))
        assert words in text
        assert operation.processor_reference in text


def test_a_hold_beside_a_charge_is_explained_and_not_refunded(client, db):
    order = make_order()
    make_payment(order=order)
    make_payment(order=order, captured=False)
    text = text_of(page_of(client, workflow_in_state(WorkflowState.NO_REFUND_DUE, order=order)))
    assert f"We found one completed charge and a temporary hold for order #{order.number}." in text
    assert "A hold is not a charge" in text


def test_two_orders_and_earlier_refunds_are_explained_from_the_snapshot(client, db):
    order = make_order()
    payment = make_payment(order=order)
    make_entry(payment=payment, kind="REFUND", processor_reference="re_before")
    workflow = workflow_in_state(WorkflowState.NO_REFUND_DUE, order=order)
    facts = stated_facts(workflow)
    assert {entry.kind for entry in facts.entries} == {"CAPTURE", "REFUND"}
    text = text_of(page_of(client, workflow))
    assert "was already returned" in text
    assert "They show $49.99 on 28 Nov 2026, 08:00 UTC, reference re_before." in text


def test_erased_words_are_gone_and_the_rest_stays(client, order):
    workflow = open_workflow(order=order, message="My secret.")
    add_message(workflow, "More of it.")
    ErasableText.objects.update(body="", erased_at=NOW)
    text = text_of(page_of(client, workflow))
    assert text.count("This text was erased.") == 2
    assert "You wrote to us about this request again." in text


@pytest.mark.failure("F099")
@pytest.mark.failure("F100")
def test_a_foreign_reference_and_a_missing_one_get_the_same_page(browser, order):
    neighbour = open_workflow(order=make_order(customer=make_customer(merchant=order.merchant)))
    stranger = open_workflow(order=make_order())

    def seen(reference):
        response = browser.get(f"/support/requests/{reference}/")
        return response.status_code, dict(response.headers), response.content

    missing = seen("RF-0000-0000")
    assert missing[0] == 404
    for reference in (neighbour.reference, stranger.reference, "RF-XXXX-XXX", "x" * 300, "wf_1", "%F0%9F"):
        assert seen(reference) == missing


def test_a_reference_may_be_typed_as_people_type_it(browser, order):
    reference = open_workflow(order=order).reference
    assert browser.get(f"/support/requests/{reference.lower().replace('-', '')}/").status_code == 200


def test_the_page_asks_a_fixed_number_of_queries(client, db, django_assert_num_queries):
    operation = operation_in_state(OperationState.STATUS_UNKNOWN)
    client.force_login(operation.workflow.customer.user)
    # session, user, customer, request, seven for the rows beside it, operations, messages with their words
    with django_assert_num_queries(13):
        client.get(address(operation.workflow))


def answer(operation, answer_class, http_status):
    return GatewayResponse.objects.create(
        attempt=operation.attempts.latest("number"),
        answer_class=answer_class,
        http_status=http_status,
        received_at=NOW,
    )


def refused_operation(*, http_status):
    operation = operation_in_state(OperationState.SUBMITTED)
    answer(operation, "REFUSED", http_status)
    why = Why(actor=Actor.system("test"), stage="TEST", reason="ANSWER_REFUSED")
    with transaction.atomic():
        commit_transition(lock_row(RefundOperation, operation.pk), OperationState.REJECTED, why, now=NOW)
        move_workflow(operation.workflow, WorkflowState.MANUAL_REVIEW)
    return RefundOperation.objects.select_related("workflow").get(pk=operation.pk)


def make_workflow():
    return open_workflow(order=make_duplicate_order().order)
