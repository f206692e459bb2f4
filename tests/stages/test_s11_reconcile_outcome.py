from datetime import timedelta

import pytest

from approvals.models import ReviewCase
from ledger.models import LedgerEntry
from notifications.models import Notification
from refunds.evidence.remaining import conservation_of
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.port import AnswerClass, ProviderStatus
from refunds.gateways.registry import response_window
from refunds.models import GatewayAttempt, GatewayResponse, ReconciliationCheck, RefundOperation
from refunds.stages.s10_submit_refund import record_answer
from refunds.stages.s11_reconcile_outcome import lose_overdue_answer, reconcile_outcome
from refunds.states import CheckCause, CheckVerdict, OperationState
from tests.factories import NOW, move_operation, operation_in_state
from tests.stages.gateways import ScriptedGateway, answered, booked, fake_gateway_for, listed
from tests.stages.trail import both, last_move, nothing_written, path

pytestmark = pytest.mark.django_db
INTERVALS = STRIPE_V1.reconciliation_intervals
_O, _S, _V = OperationState, ProviderStatus, CheckVerdict


@pytest.fixture
def unknown():
    return in_doubt(_O.STATUS_UNKNOWN)


def in_doubt(state):
    """Return an operation whose outcome is to be looked up now."""
    operation = operation_in_state(state)
    RefundOperation.objects.filter(pk=operation.pk).update(next_check_at=NOW)
    return operation


def look(operation, *lookups, now=NOW, **asked):
    """Reconcile once against scripted look-ups; nothing may ever be sent from here."""
    gateway = ScriptedGateway(lookups=lookups)
    verdict = reconcile_outcome(
        operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=now, **asked
    )
    assert (gateway.submissions, gateway.lookups) == ([], [])
    return verdict


# -- an answer that does not come


@pytest.mark.parametrize(("seconds", "lost"), [(-1, False), (0, True), (1, True)])
def test_an_answer_is_lost_once_its_window_has_passed(seconds, lost):
    operation = operation_in_state(_O.SUBMITTED)
    now = NOW + response_window() + timedelta(seconds=seconds)
    assert lose_overdue_answer(operation_id=operation.pk, now=now) is lost
    stored, workflow = both(operation)
    assert (path(stored)[-1], workflow.state) == ("STATUS_UNKNOWN" if lost else "SUBMITTED", "EXECUTING")
    if lost:
        event = last_move(stored)
        assert (event.stage, event.reason) == ("RECONCILE_OUTCOME", "ANSWER_OVERDUE")
        assert event.evidence == {"gateway_attempt_id": operation.attempts.get().pk}
        assert stored.next_check_at == now


# -- positive evidence moves the operation


def test_a_refund_of_ours_that_succeeded_completes_it(unknown):
    assert look(unknown, listed(booked(unknown))) is _V.CONFIRMED_COMPLETED
    stored, workflow = both(unknown)
    assert path(stored) == ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"]
    assert path(workflow)[-2:] == ["EXECUTING", "COMPLETED"]
    assert (stored.processor_reference, stored.next_check_at, stored.checks_made) == ("re_1", None, 1)
    check = ReconciliationCheck.objects.get()
    assert (check.number, check.verdict, check.processor_reference, check.at) == (
        1,
        "CONFIRMED_COMPLETED",
        "re_1",
        NOW,
    )
    assert check.sources == [
        {
            "surface": "refunds.list",
            "complete": True,
            "refunds": ["re_1"],
            "http_status": 200,
            "error_code": None,
            "attempts": 1,
        }
    ]
    assert last_move(stored).evidence == {
        "check": 1,
        "cause": "SCHEDULED",
        "processor_reference": "re_1",
        "explanation": check.explanation,
    }
    assert LedgerEntry.objects.get(kind="REFUND").processor_reference == "re_1"
    assert Notification.objects.get().logical_event_id == f"refund.completed:{unknown.pk}"


@pytest.mark.failure("F024")
@pytest.mark.parametrize("status", [_S.PENDING, _S.REQUIRES_ACTION])
def test_a_refund_of_ours_that_waits_is_looked_at_again(unknown, status):
    assert look(unknown, listed(booked(unknown, status))) is _V.CONFIRMED_PENDING
    stored, workflow = both(unknown)
    assert (path(stored)[-1], workflow.state) == ("PROVIDER_PENDING", "EXECUTING")
    assert stored.next_check_at == NOW + INTERVALS[0]
    assert not Notification.objects.exists()


@pytest.mark.failure("F024")
def test_what_the_provider_calls_pending_is_looked_at_for_as_long_as_it_is():
    operation = in_doubt(_O.PROVIDER_PENDING)
    RefundOperation.objects.update(processor_reference="re_1")
    pending = listed(booked(operation, _S.PENDING))
    now, waits = NOW, []
    for _ in range(len(INTERVALS) + 2):
        look(operation, pending, pending, now=now)
        waits.append(both(operation)[0].next_check_at - now)
        now += waits[-1]
    assert waits == [*INTERVALS, INTERVALS[-1], INTERVALS[-1]]
    unread = listed(complete=False)
    assert look(operation, unread, unread, now=now) is _V.STILL_AMBIGUOUS
    assert both(operation)[0].next_check_at == now + INTERVALS[0]
    now += INTERVALS[0]
    look(operation, listed(booked(operation)), listed(booked(operation)), now=now)
    assert path(operation)[-2:] == ["PROVIDER_PENDING", "COMPLETED"]


@pytest.mark.parametrize("status", [_S.FAILED, _S.CANCELED])
def test_a_refund_of_ours_that_failed_is_for_people_and_frees_the_amount(unknown, status):
    assert look(unknown, listed(booked(unknown, status))) is _V.CONFIRMED_FAILED
    stored, workflow = both(unknown)
    assert (path(stored)[-1], path(workflow)[-1]) == ("FAILED", "MANUAL_REVIEW")
    assert conservation_of(unknown.payment_id).remaining == 4999


def test_a_refund_whose_id_is_known_is_asked_for_by_both_ways():
    operation = in_doubt(_O.PROVIDER_PENDING)
    RefundOperation.objects.update(processor_reference="re_1")
    gateway = ScriptedGateway(lookups=[listed(complete=False), listed(booked(operation))])
    reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=NOW)
    assert gateway.looked_up == [operation.payment_reference, "re_1"]
    assert path(operation)[-1] == "COMPLETED"


# -- silence proves nothing


def test_a_missing_refund_after_a_500_is_never_called_absent_and_the_amount_stays_reserved(unknown):
    answer_newest_attempt(unknown, AnswerClass.UNKNOWN, http_status=500)
    now, waits = NOW, []
    for _ in INTERVALS:
        assert look(unknown, listed(), now=now) is _V.NOT_FOUND_YET
        stored, workflow = both(unknown)
        assert (path(stored)[-1], workflow.state) == ("STATUS_UNKNOWN", "EXECUTING")
        waits.append(stored.next_check_at - now)
        now = stored.next_check_at
    assert tuple(waits) == INTERVALS
    assert conservation_of(unknown.payment_id).reserved == 4999

    assert look(unknown, listed(), now=now) is _V.NOT_FOUND_YET

    stored, workflow = both(unknown)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert (stored.next_check_at, stored.checks_made) == (now + INTERVALS[-1], len(INTERVALS) + 1)
    case = ReviewCase.objects.get(subject_id=workflow.pk)
    assert (case.kind, case.reason, case.closed_at) == ("FINANCE", "NOT_FOUND_YET", None)
    assert conservation_of(unknown.payment_id).reserved == 4999
    assert list(ReconciliationCheck.objects.values_list("verdict", flat=True).distinct()) == ["NOT_FOUND_YET"]
    assert not Notification.objects.exists()


def answer_newest_attempt(operation, answer_class, *, http_status=None):
    attempt = operation.attempts.order_by("-number").first()
    GatewayResponse.objects.create(
        attempt=attempt, answer_class=answer_class, http_status=http_status, received_at=NOW
    )


HORIZON = timedelta(seconds=STRIPE_V1.in_flight_horizon_seconds)


@pytest.mark.failure("F011")
def test_absence_is_recorded_once_the_horizon_has_passed_and_the_amount_stays_reserved(unknown):
    started = unknown.attempts.get().started_at
    assert look(unknown, listed(), now=started + HORIZON - timedelta(seconds=1)) is _V.NOT_FOUND_YET
    RefundOperation.objects.update(next_check_at=NOW)
    later = started + HORIZON
    assert look(unknown, listed(), now=later) is _V.CONFIRMED_ABSENT
    stored, workflow = both(unknown)
    assert (path(stored)[-1], workflow.state) == ("CONFIRMED_ABSENT", "EXECUTING")
    assert (stored.next_attempt_at, stored.next_check_at) == (later, None)
    assert conservation_of(unknown.payment_id).reserved == 4999
    assert unknown.attempts.count() == 1  # nothing was sent from here


def test_after_five_attempts_absence_is_for_people(unknown):
    first = unknown.attempts.get()
    for number in range(2, 6):
        values = {f.attname: getattr(first, f.attname) for f in first._meta.concrete_fields}
        GatewayAttempt.objects.create(**values | {"id": f"gwat_{number}", "number": number})
    assert look(unknown, listed(), now=NOW + HORIZON + timedelta(minutes=1)) is _V.CONFIRMED_ABSENT
    stored, workflow = both(unknown)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert conservation_of(unknown.payment_id).reserved == 4999


@pytest.mark.failure("F021")
def test_a_refund_that_somebody_else_made_is_adopted_and_named_as_the_reason(unknown):
    answer_newest_attempt(unknown, AnswerClass.REFUSED, http_status=400)
    foreign = booked(unknown, operation_id=None, processor_reference="re_dashboard")
    assert look(unknown, listed(foreign)) is _V.CONFIRMED_REJECTED
    stored, workflow = both(unknown)
    assert (path(stored)[-1], path(workflow)[-1]) == ("REJECTED", "MANUAL_REVIEW")
    assert last_move(stored).reason == "REFUNDED_ELSEWHERE"
    entry = LedgerEntry.objects.get(kind="REFUND")
    assert (entry.processor_reference, entry.status, entry.amount_minor_units) == (
        "re_dashboard", "SUCCEEDED", 4999,
    )  # fmt: skip
    assert conservation_of(unknown.payment_id).remaining == 0


# -- an event of the provider, or a person, asks


@pytest.mark.failure("F022")
@pytest.mark.parametrize(("status", "entry_status"), [(_S.FAILED, "FAILED"), (_S.CANCELED, "FAILED")])
def test_a_completed_refund_that_failed_later_is_taken_back_and_told_once(status, entry_status):
    operation = in_doubt(_O.STATUS_UNKNOWN)
    look(operation, listed(booked(operation)))
    assert conservation_of(operation.payment_id).remaining == 0
    later = booked(operation, status)
    for _ in range(2):
        look(operation, listed(later), listed(later), cause=CheckCause.WEBHOOK, seen_reference="re_1")
    stored, workflow = both(operation)
    assert (path(stored)[-2:], path(workflow)[-1]) == (["COMPLETED", "FAILED"], "MANUAL_REVIEW")
    assert LedgerEntry.objects.get(kind="REFUND").status == entry_status
    assert conservation_of(operation.payment_id).remaining == 4999
    topics = sorted(Notification.objects.values_list("logical_event_id", flat=True))
    assert topics == [f"refund.completed:{operation.pk}", f"refund.returned:{operation.pk}"]


@pytest.mark.failure("F032")
@pytest.mark.parametrize("cause", [CheckCause.WEBHOOK, CheckCause.PERSON])
@pytest.mark.parametrize("state", [s for s in _O if s not in {_O.STATUS_UNKNOWN, _O.MANUAL_REVIEW}])
def test_a_look_that_finds_nothing_moves_no_operation_that_is_not_in_doubt(state, cause):
    operation = operation_in_state(state)
    RefundOperation.objects.update(checks_made=operation.checks.count())
    before = path(operation)
    lookups = [listed(), listed()] if operation.processor_reference else [listed()]
    look(operation, *lookups, now=NOW + HORIZON + timedelta(days=2), cause=cause)
    assert path(operation) == before
    assert ReconciliationCheck.objects.filter(operation=operation, cause=cause).count() == 1


@pytest.mark.failure("F002")
def test_an_event_that_comes_before_the_answer_completes_the_operation():
    operation = operation_in_state(_O.SUBMITTED)
    fact = listed(booked(operation))
    look(operation, fact, fact, cause=CheckCause.WEBHOOK, seen_reference="re_1")
    assert path(operation)[-2:] == ["SUBMITTED", "COMPLETED"]
    accepted = answered(AnswerClass.ACCEPTED, refund=booked(operation), http_status=200)
    record_answer(found=operation, attempt_id=operation.attempts.get().pk, answer=accepted, now=NOW)
    assert path(operation)[-2:] == ["SUBMITTED", "COMPLETED"]
    assert LedgerEntry.objects.filter(kind="REFUND").count() == 1
    assert Notification.objects.count() == 1


def test_what_an_event_asks_uses_up_none_of_the_scheduled_checks(unknown):
    due = both(unknown)[0].next_check_at
    for _ in range(len(INTERVALS) + 3):
        assert look(unknown, listed(), cause=CheckCause.WEBHOOK) is _V.NOT_FOUND_YET
    assert (path(unknown)[-1], both(unknown)[0].next_check_at) == ("STATUS_UNKNOWN", due)
    look(unknown, listed())
    assert both(unknown)[0].next_check_at == NOW + INTERVALS[0]


def test_a_source_that_cannot_be_read_proves_nothing(unknown):
    gateway = fake_gateway_for(unknown)
    gateway.lookups_fail = True
    verdict = reconcile_outcome(operation_id=unknown.pk, gateway=gateway, contract=STRIPE_V1, now=NOW)
    assert verdict is _V.STILL_AMBIGUOUS
    stored, _ = both(unknown)
    assert (path(stored)[-1], stored.next_check_at) == ("STATUS_UNKNOWN", NOW + INTERVALS[0])
    assert ReconciliationCheck.objects.get().sources[0]["complete"] is False


@pytest.mark.parametrize("case", ["another amount", "two refunds"])
def test_a_contradiction_goes_to_people_at_once(unknown, case):
    found = (
        listed(booked(unknown, amount_minor_units=1))
        if case == "another amount"
        else listed(booked(unknown), booked(unknown, processor_reference="re_2"))
    )
    assert look(unknown, found) is _V.STILL_AMBIGUOUS
    stored, workflow = both(unknown)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert conservation_of(unknown.payment_id).reserved == 4999


# -- what is not in doubt


@pytest.mark.parametrize("state", list(_O))
def test_only_a_missing_answer_is_lost_and_only_an_outcome_in_doubt_is_looked_up(state):
    operation = operation_in_state(state)
    with nothing_written():
        if state is not _O.SUBMITTED:
            assert not lose_overdue_answer(operation_id=operation.pk, now=NOW + timedelta(days=1))
        if state not in {_O.STATUS_UNKNOWN, _O.PROVIDER_PENDING}:
            assert look(operation) is None


@pytest.mark.failure("F053")
def test_a_nudge_does_not_hurry_the_next_look(unknown):
    look(unknown, listed())
    with nothing_written():
        assert look(unknown, now=NOW + INTERVALS[0] - timedelta(seconds=1)) is None
    assert look(unknown, listed(), now=NOW + INTERVALS[0]) is _V.NOT_FOUND_YET


@pytest.mark.failure("F077")
def test_a_look_that_another_one_overtakes_is_dropped(unknown):
    class Overtaken(ScriptedGateway):
        def list_refunds(self, **question):
            look(unknown, listed())
            return super().list_refunds(**question)

    gateway, later = Overtaken(lookups=[listed()]), NOW + INTERVALS[0]
    assert reconcile_outcome(operation_id=unknown.pk, gateway=gateway, contract=STRIPE_V1, now=later) is None
    assert both(unknown)[0].checks_made == ReconciliationCheck.objects.count() == 1


@pytest.mark.failure("F077")
def test_a_check_that_finds_the_operation_moved_meanwhile_is_dropped(unknown):
    class PeopleWereFaster(ScriptedGateway):
        def list_refunds(self, **question):
            move_operation(unknown, _O.MANUAL_REVIEW)
            return super().list_refunds(**question)

    gateway = PeopleWereFaster(lookups=[listed(booked(unknown))])
    assert reconcile_outcome(operation_id=unknown.pk, gateway=gateway, contract=STRIPE_V1, now=NOW) is None
    assert path(unknown)[-2:] == ["STATUS_UNKNOWN", "MANUAL_REVIEW"]
    assert ReconciliationCheck.objects.count() == 1  # of the people's move


@pytest.mark.failure("F020")
def test_a_key_in_use_is_looked_up_and_ends_with_one_refund():
    operation = operation_in_state(_O.SUBMITTED)
    attempt = operation.attempts.get()
    in_use = answered(AnswerClass.UNKNOWN, http_status=409, code="idempotency_key_in_use")
    record_answer(found=operation, attempt_id=attempt.pk, answer=in_use, now=NOW)
    look(operation, listed())
    assert look(operation, listed(booked(operation)), now=NOW + INTERVALS[0]) is _V.CONFIRMED_COMPLETED
    assert path(operation) == ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"]
    assert operation.attempts.count() == 1
