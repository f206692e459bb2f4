"""Money that shows up under another name, by another road, or after we had made up our mind: it counts once."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.models import LedgerEntry, Payment
from refunds.evidence.booking import adopt_refunds
from refunds.evidence.remaining import conservation_of
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.fake import Ordered
from refunds.gateways.port import RETRIEVE, AnswerClass, ProviderStatus
from refunds.gateways.stripe_events import Subject, subject_of
from refunds.gateways.stripe_objects import read_refund
from refunds.models import (
    GatewayAttempt,
    GatewayResponse,
    ReconciliationCheck,
    RefundOperation,
    RefundWorkflow,
)
from refunds.stages.s10_submit_refund import (
    LONGEST_WAIT,
    WAIT,
    NotBegun,
    _command,
    begin_attempt,
    record_answer,
)
from refunds.stages.s11_reconcile_outcome import lose_overdue_answer, reconcile_outcome
from refunds.states import CheckCause, CheckVerdict, OperationState
from tests.casework.staff import charge_of, start, states_of
from tests.factories import (
    NOW,
    make_duplicate_order,
    make_merchant,
    make_policy,
    make_staff,
    operation_in_state,
)
from tests.late_truth.test_what_is_learnt_later import executed, gateway_with, hear
from tests.stages.gateways import ScriptedGateway, answered, booked, fake_gateway_for, listed, submit
from tests.stages.test_s11_what_was_told import keep, settle
from tests.webhooks.signed import event

pytestmark = pytest.mark.django_db
_O, _S, _V = OperationState, ProviderStatus, CheckVerdict
HORIZON = timedelta(seconds=STRIPE_V1.in_flight_horizon_seconds)
GIVEN_UP = [_O.CANCELLED, _O.REJECTED, _O.FAILED]
ALIVE = [_S.SUCCEEDED, _S.PENDING, _S.REQUIRES_ACTION]


def in_state(state, **columns):
    operation = operation_in_state(state, **columns)
    RefundOperation.objects.filter(pk=operation.pk).update(
        next_check_at=NOW, checks_made=operation.checks.count()
    )
    return RefundOperation.objects.get(pk=operation.pk)


def look(operation, *lookups, now=NOW, **asked):
    gateway = ScriptedGateway(lookups=lookups)
    verdict = reconcile_outcome(
        operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=now, **asked
    )
    assert gateway.submissions == []
    return verdict


def stored(operation):
    return RefundOperation.objects.get(pk=operation.pk)


def charge_refunded(operation):
    charge = {"id": operation.payment_reference, "object": "charge", "amount_refunded": 4999}
    return event(None, event_type="charge.refunded", id="evt_charge", data={"object": charge})


# -- an operation that was given up, and paid


@pytest.mark.failure("F032")
@pytest.mark.parametrize("status", ALIVE)
@pytest.mark.parametrize("state", GIVEN_UP)
def test_a_charge_that_shows_the_refund_of_what_was_given_up_takes_it_to_people(state, status):
    operation = in_state(state)
    shown = listed(booked(operation, status))
    hear(charge_refunded(operation), ScriptedGateway(lookups=[shown] * 3))
    assert states_of(operation)[-1] == "MANUAL_REVIEW"
    assert RefundWorkflow.objects.get().state == "MANUAL_REVIEW"
    assert conservation_of(operation.payment_id).remaining == 0
    assert Payment.objects.get(pk=operation.payment_id).frozen_at is None  # it is counted once


@pytest.mark.parametrize("status", ALIVE)
@pytest.mark.parametrize("state", GIVEN_UP)
def test_a_list_that_was_read_for_something_else_counts_what_a_given_up_operation_paid(state, status):
    operation = in_state(state)
    shown = listed(booked(operation, status))
    adopt_refunds([operation.payment], [shown], now=NOW)
    assert conservation_of(operation.payment_id).remaining == 0
    look(operation, shown, shown, cause=CheckCause.WEBHOOK, seen_reference="re_1")
    assert states_of(operation)[-1] == "MANUAL_REVIEW"
    assert conservation_of(operation.payment_id).remaining == 0
    assert Payment.objects.get(pk=operation.payment_id).frozen_at is None


@pytest.mark.parametrize("state", GIVEN_UP)
def test_what_a_given_up_operation_did_not_pay_after_all_is_free_again(state):
    operation = in_state(state)
    dead = listed(booked(operation, _S.FAILED))
    adopt_refunds([operation.payment], [dead], now=NOW)
    assert not LedgerEntry.objects.filter(kind="REFUND").exists()
    adopt_refunds([operation.payment], [listed(booked(operation))], now=NOW)
    adopt_refunds([operation.payment], [dead], now=NOW)
    assert LedgerEntry.objects.get(kind="REFUND").status == "FAILED"
    assert conservation_of(operation.payment_id).remaining == 4999


def test_a_charge_that_shows_a_completed_refund_as_failed_takes_it_back():
    operation = in_state(_O.STATUS_UNKNOWN)
    look(operation, listed(booked(operation)))
    dead = listed(booked(operation, _S.FAILED))
    hear(charge_refunded(operation), ScriptedGateway(lookups=[dead] * 3))
    assert states_of(operation)[-2:] == ["COMPLETED", "FAILED"]
    assert conservation_of(operation.payment_id).remaining == 4999


@pytest.mark.failure("F022")
@pytest.mark.parametrize("status", ALIVE)
def test_a_refund_that_failed_and_is_read_as_alive_is_not_free(status):
    operation = in_state(_O.STATUS_UNKNOWN)
    look(operation, listed(booked(operation, _S.FAILED)))
    assert (states_of(operation)[-1], conservation_of(operation.payment_id).remaining) == ("FAILED", 4999)
    alive = listed(booked(operation, status))
    look(operation, alive, alive, cause=CheckCause.PERSON)
    assert states_of(operation)[-1] == "MANUAL_REVIEW"
    assert conservation_of(operation.payment_id).remaining == 0


# -- whose refund it is


def of_another_order(operation):
    order = make_duplicate_order(merchant=operation.merchant).order
    return in_state(_O.STATUS_UNKNOWN, order=order)


def test_a_refund_pays_for_one_operation_even_if_its_id_is_copied_to_another():
    first = in_state(_O.STATUS_UNKNOWN)
    second = of_another_order(first)
    look(first, listed(booked(first)))
    assert look(second, listed(booked(second))) is _V.STILL_AMBIGUOUS
    assert (states_of(second)[-1], stored(second).processor_reference) == ("MANUAL_REVIEW", None)
    assert "known as the refund of another operation" in second.checks.latest("number").explanation[-1]
    assert conservation_of(second.payment_id).remaining == 0
    assert states_of(first)[-1] == "COMPLETED"


def test_an_answer_that_names_the_refund_of_another_operation_completes_nothing():
    first = in_state(_O.STATUS_UNKNOWN)
    second = of_another_order(first)
    look(first, listed(booked(first)))
    RefundOperation.objects.filter(pk=second.pk).update(checks_made=second.checks.count())
    record_answer(
        found=second,
        attempt_id=second.attempts.get().pk,
        answer=answered(AnswerClass.ACCEPTED, refund=booked(second), http_status=200),
        now=NOW,
    )
    assert (states_of(second)[-1], stored(second).processor_reference) == ("MANUAL_REVIEW", None)
    assert GatewayResponse.objects.get(attempt__operation=second).processor_reference == "re_1"


def by_id(operation, **changed):
    return replace(listed(booked(operation, **changed)), surface=RETRIEVE)


def test_a_refund_of_another_payment_completes_nothing_while_the_list_cannot_be_read():
    operation = in_state(_O.STATUS_UNKNOWN)
    unread = listed(complete=False)
    foreign = by_id(operation, processor_reference="re_x", payment_reference="ch_of_another_order")
    asked = {"cause": CheckCause.WEBHOOK, "seen_reference": "re_x"}
    assert look(operation, unread, foreign, **asked) is _V.STILL_AMBIGUOUS
    assert (states_of(operation)[-1], stored(operation).processor_reference) == ("STATUS_UNKNOWN", None)
    look(operation, listed(), foreign, **asked)
    assert (states_of(operation)[-1], stored(operation).processor_reference) == ("MANUAL_REVIEW", None)


@pytest.mark.parametrize(
    ("lists", "payment"),
    [
        (lambda _operation: listed(complete=False), "ch_000000"),  # the object names our payment itself
        (lambda operation: listed(booked(operation), complete=False), "ch_of_the_intent"),
        (lambda operation: listed(booked(operation)), "ch_of_the_intent"),
    ],
)
def test_a_refund_that_the_object_or_the_list_ties_to_our_payment_completes(lists, payment):
    operation = in_state(_O.STATUS_UNKNOWN)
    payment = operation.payment_reference if payment == "ch_000000" else payment
    object_of_it = by_id(operation, payment_reference=payment)
    look(operation, lists(operation), object_of_it, cause=CheckCause.WEBHOOK, seen_reference="re_1")
    assert states_of(operation)[-1] == "COMPLETED"


def test_a_pending_refund_is_known_by_its_reference_from_the_first_time_that_it_is_seen():
    operation = in_state(_O.CONFIRMED_ABSENT)
    keep(operation)
    look(operation, listed(), listed(complete=False), cause=CheckCause.WEBHOOK)
    assert (states_of(operation)[-1], stored(operation).processor_reference) == ("PROVIDER_PENDING", None)
    waiting = listed(booked(operation, _S.PENDING))
    look(operation, waiting, waiting, cause=CheckCause.PERSON)
    assert (states_of(operation)[-1], stored(operation).processor_reference) == ("PROVIDER_PENDING", "re_1")


# -- absence that does not hold any more


@pytest.fixture
def absent():
    """An operation whose request was lost on its way and proven absent, with its gateway."""
    operation = operation_in_state(_O.CREATED)
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.NEVER_ARRIVE)
    submit(operation, gateway)
    RefundOperation.objects.update(next_check_at=NOW + HORIZON)
    Payment.objects.update(refreshed_at=NOW + HORIZON)
    verdict = reconcile_outcome(
        operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=NOW + HORIZON
    )
    assert verdict is _V.CONFIRMED_ABSENT
    return operation, gateway


def sent_again(operation, gateway):
    outcome = submit(operation, gateway, now=NOW + HORIZON)
    assert conservation_of(operation.payment_id).remaining == 0
    return outcome, len(gateway.submissions) - 1


def test_nothing_new_means_that_it_is_sent_again(absent):
    assert sent_again(*absent) == (AnswerClass.ACCEPTED, 1)


@pytest.mark.parametrize("tell", [keep, settle])
def test_what_the_provider_told_since_absence_was_proven_stops_the_next_call(absent, tell):
    operation, gateway = absent
    tell(operation)
    assert sent_again(operation, gateway) == (NotBegun("PROVIDER_TOLD_OF_REFUND"), 0)
    assert states_of(operation)[-1] == "MANUAL_REVIEW"


def test_a_part_of_a_capture_that_was_given_up_stops_nothing(absent):
    operation, gateway = absent
    settle(operation, category="PARTIAL_CAPTURE_REVERSAL")
    assert sent_again(operation, gateway) == (AnswerClass.ACCEPTED, 1)


@pytest.mark.parametrize("tell", [keep, settle])
def test_what_the_provider_told_contradicts_that_nothing_was_executed(tell):
    operation = operation_in_state(_O.CREATED)
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.NOT_EXECUTED)
    submit(operation, gateway)
    tell(operation)
    outcome = submit(operation, gateway, now=NOW + WAIT)
    assert (outcome, len(gateway.submissions)) == (NotBegun("PROVIDER_TOLD_OF_REFUND"), 1)
    assert states_of(operation)[-1] == "MANUAL_REVIEW"


@pytest.mark.parametrize(
    ("http_status", "reason"),
    [(500, "LATE_EFFECT_POSSIBLE"), (200, "ANSWERED_AS_DONE"), (201, "ANSWERED_AS_DONE")],
)
def test_an_answer_that_came_after_absence_was_proven_without_it_stops_the_next_call(http_status, reason):
    operation = operation_in_state(_O.CREATED)
    gateway = fake_gateway_for(operation)
    begin_and_lose(operation, gateway)
    late = answered(AnswerClass.UNKNOWN, http_status=http_status)
    record_answer(found=operation, attempt_id=operation.attempts.get().pk, answer=late, now=NOW + HORIZON)
    assert states_of(operation)[-1] == "CONFIRMED_ABSENT"
    assert sent_again(operation, gateway) == (NotBegun(reason), -1)
    assert states_of(operation)[-1] == "MANUAL_REVIEW"


def begin_and_lose(operation, gateway):
    """Commit the attempt, and let the process stop before it can record an answer; absence is proven meanwhile."""
    begin_attempt(found=operation, gateway=gateway, clock=lambda: NOW)
    lose_overdue_answer(operation_id=operation.pk, now=NOW + HORIZON)
    Payment.objects.update(refreshed_at=NOW + HORIZON)
    reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=NOW + HORIZON)


@pytest.mark.failure("F007")
@pytest.mark.parametrize("http_status", [200, 201, 202, 299])
@pytest.mark.parametrize("code", ["OBJECT_NOT_OURS", "BODY_UNPARSABLE"])
def test_what_was_answered_as_done_is_never_absent_however_little_could_be_read(http_status, code):
    operation = in_state(_O.STATUS_UNKNOWN)
    GatewayResponse.objects.create(
        attempt=operation.attempts.get(), answer_class="UNKNOWN", http_status=http_status, error_code=code,
        received_at=NOW,
    )  # fmt: skip
    unnamed = listed(booked(operation, operation_id=None))
    assert look(operation, unnamed, now=NOW + HORIZON) is _V.NOT_FOUND_YET
    assert any("it was done" in line for line in ReconciliationCheck.objects.latest("number").explanation)
    assert states_of(operation)[-1] == "STATUS_UNKNOWN"


@pytest.mark.parametrize("late", [AnswerClass.NOT_EXECUTED, AnswerClass.REFUSED, AnswerClass.UNKNOWN])
def test_a_late_answer_to_an_older_call_does_not_speak_for_the_one_that_is_under_way(late):
    operation = operation_in_state(_O.CREATED)
    gateway = fake_gateway_for(operation)
    begin_and_lose(operation, gateway)
    older = operation.attempts.get()
    begun = begin_attempt(found=stored(operation), gateway=gateway, clock=lambda: NOW + HORIZON)
    at = {"found": operation, "now": NOW + HORIZON}
    record_answer(attempt_id=older.pk, answer=answered(late), **at)
    assert states_of(operation)[-1] == "SUBMITTED"  # and so no other refund of this payment is sent meanwhile
    assert older.response.answer_class == late
    accepted = answered(AnswerClass.ACCEPTED, refund=booked(operation), http_status=200)
    record_answer(attempt_id=begun.attempt_id, answer=accepted, **at)
    assert states_of(operation)[-1] == "COMPLETED"


# -- what must not wait for something else


@pytest.fixture
def merchant():
    made = make_merchant()
    make_policy(merchant=made)
    return made


def test_a_charge_with_two_refunds_of_ours_shows_one_although_the_other_is_not_to_be_seen_yet(merchant):
    starter, second = make_staff(merchant=merchant), make_staff(merchant=merchant)
    charge = charge_of(merchant)
    gateway = gateway_with(charge, 10_000)
    gateway.order(Ordered.NEVER_ARRIVE, Ordered.BOOK_THEN_LOSE)
    made = []
    for number in range(2):  # two equal parts of one charge are two operations
        form = {"amount_minor_units": 3000, "client_token": f"form-{number}"}
        made.append(executed(start(charge, starter, **form), second))
        submit(made[-1], gateway)
    unseen, seen = made
    request = {"id": "req_1", "idempotency_key": unseen.idempotency_key}
    row = hear(charge_refunded(seen) | {"request": request}, gateway)
    assert (row.outcome, row.detail, row.tries) == ("RECEIVED", "NOT_FOUND_YET", 1)
    assert (states_of(unseen)[-1], states_of(seen)[-1]) == ("STATUS_UNKNOWN", "COMPLETED")


@pytest.mark.parametrize(("tries", "wait"), [(0, WAIT), (9, WAIT), (10, 2 * WAIT), (400, LONGEST_WAIT)])
def test_a_provider_that_cannot_be_reached_for_long_is_asked_less_often(tries, wait):
    operation = operation_in_state(_O.CREATED)
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.NOT_EXECUTED)
    made = [
        GatewayAttempt(
            id=f"gwat_{number}", operation=operation, number=number, provider=gateway.provider,
            api_version=gateway.api_version, idempotency_key=operation.idempotency_key, started_at=NOW,
            request_fingerprint="0" * 64, request_body_sha256=gateway.request_body_sha256(_command(operation)),
            system_version="test", livemode=False,
        )
        for number in range(1, tries + 1)
    ]  # fmt: skip
    GatewayAttempt.objects.bulk_create(made)
    GatewayResponse.objects.bulk_create(
        [GatewayResponse(attempt=attempt, answer_class="NOT_EXECUTED", received_at=NOW) for attempt in made]
    )
    assert submit(operation, gateway) is AnswerClass.NOT_EXECUTED
    assert stored(operation).next_attempt_at == NOW + wait


# -- words and numbers


@pytest.mark.parametrize("thin", ["", "v1."])
@pytest.mark.parametrize(
    ("event_type", "subject"),
    [
        ("refund.canceled", Subject.REFUND),
        ("refund.of_next_year", Subject.REFUND),
        ("charge.dispute.escalated", Subject.DISPUTE),
        ("refunds.created", Subject.OTHER),
        ("charge.succeeded", Subject.OTHER),
    ],
)
def test_a_new_kind_of_event_about_a_refund_says_where_to_look(thin, event_type, subject):
    assert subject_of(f"{thin}{event_type}") is subject


def test_a_new_kind_of_event_moves_what_its_object_shows():
    operation = operation_in_state(_O.CREATED)
    gateway = fake_gateway_for(operation)
    submit(operation, gateway)
    (refund,) = gateway.refunds(operation.payment_reference)
    gateway.set_status(refund.processor_reference, _S.CANCELED)
    row = hear(event(operation, reference=refund.processor_reference, event_type="refund.canceled"), gateway)
    assert (row.outcome, states_of(operation)[-1]) == ("APPLIED", "FAILED")


@pytest.mark.parametrize(("amount", "read"), [(2**63 - 1, True), (2**63, False), (10**40, False)])
def test_an_amount_that_no_row_can_hold_is_not_understood(amount, read):
    value = {
        "object": "refund", "id": "re_1", "amount": amount, "currency": "usd", "charge": "ch_1",
        "status": "succeeded", "created": 1,
    }  # fmt: skip
    assert (read_refund(value, contract=STRIPE_V1) is not None) is read
