"""What speaks against giving an operation up: looks and words from too early, and what nobody has read yet."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ledger.models import ErasableText
from refunds import pipeline
from refunds.casework.cancelling import CancelFacts, why_not_cancellable
from refunds.casework.owned_case import CaseAction
from refunds.casework.provider_evidence import check_statement
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.gateways.contract import STRIPE_V1
from refunds.models import GatewayWebhook
from refunds.states import CheckCause, CheckVerdict, OperationState, WebhookOutcome
from tests.casework.test_cancellation import (
    FOUND,
    LATER,
    claim,
    decide,
    look,
    not_done,
    propose,
    state,
)
from tests.console.conftest import ticket_of
from tests.factories import NOW, make_duplicate_order, operation_in_state

pytestmark = pytest.mark.django_db
HORIZON = timedelta(seconds=STRIPE_V1.in_flight_horizon_seconds)
CARD = "4242424242424242"
SEEN = CheckCause.WEBHOOK  # a look that an event brought: unlike a person's, it sends nothing again


@pytest.fixture
def fresh(merchant):
    """An operation whose only call began at NOW and was never answered."""
    return operation_in_state(
        OperationState.MANUAL_REVIEW, order=make_duplicate_order(customer__merchant=merchant).order
    )


@pytest.fixture
def operation(fresh):
    """The same a day later, its horizon and its key's safe window long over, and looked up."""
    look(fresh)
    return fresh


def attempted_at(made):
    return made.attempts.latest("number").started_at


@pytest.mark.failure("F022")
def test_a_look_from_while_the_call_might_still_run_says_nothing(fresh, starter):
    over = attempted_at(fresh) + HORIZON
    look(fresh, now=over - timedelta(seconds=1), cause=SEEN)
    claim(fresh, starter, now=over)
    found = replace(FOUND, seen_at=over)
    assert not_done(propose, fresh, starter, now=over, found=found, claimed=False) == "LOOK_FIRST"
    look(fresh, now=over, cause=SEEN)
    assert propose(fresh, starter, now=over, found=found, claimed=False)


@pytest.mark.failure("F022")
def test_what_a_person_saw_while_the_call_might_still_run_says_nothing(fresh, starter):
    over = attempted_at(fresh) + HORIZON
    look(fresh, now=over, cause=SEEN)
    claim(fresh, starter, now=over)
    early = replace(FOUND, seen_at=over - timedelta(seconds=1))
    assert (
        not_done(propose, fresh, starter, now=over, found=early, claimed=False) == "EVIDENCE_BEFORE_THE_CALL"
    )


def test_a_reference_that_a_person_gave_is_looked_up_before_anything_is_given_up(
    operation,
    starter,
    colleague,
):
    approval_id = propose(operation, starter)
    claim(operation, colleague)
    action = CaseAction(ticket=ticket_of(operation.workflow), staff_user_id=colleague.pk)
    action = replace(action, reason_code="REFERENCE_GIVEN")
    later = LATER + timedelta(minutes=1)
    pipeline.give_reference(action=action, operation_id=operation.pk, reference="re_7", now=later)
    assert not_done(decide, approval_id, colleague, now=later) == "REFERENCE_NOT_LOOKED_UP"
    look(operation, now=later + timedelta(seconds=1))
    decide(approval_id, colleague, now=later + timedelta(seconds=2))
    assert state(operation) == "CANCELLED"


def event(made, **columns):
    text = ErasableText.keep("{}", now=LATER)
    about = {
        "provider": "stripe", "event_id": "evt_1", "event_type": "refund.created", "livemode": False,
        "account": made.account, "object_id": "re_1", "happened_at": LATER, "received_at": LATER,
        "next_attempt_at": LATER,
    }  # fmt: skip
    return GatewayWebhook.objects.create(body=text, body_sha256=text.sha256, **(about | columns))


def test_an_event_that_was_given_up_still_told_of_the_refund(operation, starter):
    event(
        operation, operation_id=operation.pk, next_attempt_at=None, outcome=WebhookOutcome.GIVEN_UP, tries=10
    )
    claim(operation, starter)
    assert not_done(propose, operation, starter, claimed=False) == "PROVIDER_TOLD_OF_REFUND"


@pytest.mark.parametrize("names_payment", [True, False])
def test_an_event_that_nobody_has_read_yet_may_be_about_this_refund(
    operation,
    starter,
    colleague,
    names_payment,
):
    """A thin event names neither operation nor payment, and the total of a charge names no refund."""
    approval_id = propose(operation, starter)
    named = {"payment_reference": operation.payment_reference} if names_payment else {}
    waiting = event(operation, **named)
    assert not_done(decide, approval_id, colleague) == "EVENT_NOT_READ_YET"
    GatewayWebhook.objects.filter(pk=waiting.pk).update(next_attempt_at=None, outcome="IGNORED")
    decide(approval_id, colleague)


def test_an_unread_event_about_another_payment_bars_nothing(operation, starter, colleague):
    approval_id = propose(operation, starter)
    event(operation, payment_reference="ch_another")
    event(operation, event_id="evt_2", event_type="customer.created")
    decide(approval_id, colleague)
    assert state(operation) == "CANCELLED"


@pytest.mark.failure("F099")
def test_a_card_number_is_no_reference_of_the_provider(operation, starter):
    claim(operation, starter)
    found = replace(FOUND, provider_reference=CARD)
    code = not_done(propose, operation, starter, found=found, claimed=False)
    assert code == "EVIDENCE_REFERENCE_INVALID"
    action = CaseAction(
        ticket=ticket_of(operation.workflow), staff_user_id=starter.pk, reason_code="REFERENCE_GIVEN"
    )
    code = not_done(
        pipeline.give_reference, action=action, operation_id=operation.pk, reference=CARD, now=LATER
    )
    assert code == "REFERENCE_INVALID"


def test_a_time_before_all_calendars_is_refused_like_any_other_early_one():
    """UTC has no such moment, so it cannot even be written down."""
    first = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
    with pytest.raises(CaseWorkRefusedError, match="EVIDENCE_BEFORE_THE_CALL"):
        check_statement(replace(FOUND, seen_at=first), from_when=NOW, now=LATER)


@pytest.mark.parametrize(("reason_code", "note"), [("", ""), ("OTHER", " ")])
def test_a_decision_about_a_proposal_says_why(operation, starter, colleague, reason_code, note):
    approval_id = propose(operation, starter)
    expected = "NOTE_REQUIRED" if reason_code else "REASON_REQUIRED"
    assert not_done(decide, approval_id, colleague, reason_code=reason_code, note=note) == expected


def test_nothing_that_nobody_called_needs_no_horizon():
    facts = CancelFacts(
        state=OperationState.MANUAL_REVIEW, reference_known=False, told_of_refund=False, event_waits=False,
        attempted_at=None, pointed_at=None, look_at=NOW, look_verdict=CheckVerdict.NOT_FOUND_YET,
        look_complete=True,
    )  # fmt: skip
    assert why_not_cancellable(facts, in_flight_horizon=HORIZON, now=NOW.astimezone(UTC)) == ""
