"""A model reads what was written without an order: one row of codes, and nothing else in the world moves."""

import json

import pytest
from django.db import connection

from ledger.ids import new_id
from ledger.models import AuditOutbox, ErasableText, text_sha256
from refunds import pipeline
from refunds.actions import reading_message
from refunds.actions.giving_order import give_order
from refunds.models import CustomerMessage, MessageReading, RefundWorkflow, RefundWorkflowEvent
from refunds.nudges import read_message
from refunds.proposers.breaker import Permit
from refunds.proposers.deterministic import DeterministicProposer
from refunds.proposers.port import Declined, DeclinedKind, Proposed, Unavailable, UnavailableKind
from refunds.proposers.router import RoutedModel
from refunds.selectors.model_qualifications import forget_qualifications
from refunds.stages.s01_authorize_request import identify_customer
from refunds.states import WorkflowState
from tests.factories import (
    NOW,
    add_message,
    make_customer,
    make_duplicate_order,
    make_order,
    make_policy,
    make_reading,
    model_configuration,
    move_workflow,
    open_without_order,
    open_workflow,
    qualify_model,
)
from tests.stages.trail import nothing_written

pytestmark = pytest.mark.django_db
HONEST = {
    "intent": "refund_duplicate_charge",
    "problem": "duplicate_charge",
    "order_hint": "2841",
    "language": "en",
}
DOWN = Unavailable(kind=UnavailableKind.TIMEOUT, detail="no answer", requests=2, latency_ms=900)
REFUSED = Declined(
    kind=DeclinedKind.REFUSAL, detail="", model_snapshot="m", prompt_version="p", latency_ms=5, requests=1
)


def said(text):
    return Proposed(
        raw_text=text,
        model_snapshot="reader-2026",
        prompt_version="read_message/1",
        latency_ms=40,
        requests=1,
        prompt_sha256="a" * 64,
        context_sha256="b" * 64,
        request_sha256="c" * 64,
        parameters={"temperature": 0.0, "response_form": "json_schema"},
    )


def reading(**changes):
    return said(json.dumps(HONEST | changes))


class Reader:
    """A model that says what it is told, in order, and keeps what it was asked; no transaction is open meanwhile."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def propose(self, *_context, **_asked):
        raise AssertionError("nothing is to be proposed here")

    def read_message(self, context, *, deadline_seconds, repair_of=None):
        self.asked.append((context, deadline_seconds, repair_of))
        self.blocks = len(connection.savepoint_ids)
        return self.answers.pop(0)


class AlwaysClosed:
    """A breaker that lets everybody through and forgets it."""

    allowed = True

    def admit(self):
        return Permit(allowed=self.allowed, token="t")

    def report(self, *_args, **_kwargs):
        """Forget it."""

    release = report


class AlwaysOpen(AlwaysClosed):
    allowed = False


@pytest.fixture
def customer():
    customer = make_customer()
    make_policy(merchant=customer.merchant)
    make_duplicate_order(customer=customer, number="2841")
    return customer


@pytest.fixture
def waiting(customer):
    return open_without_order(customer=customer, message="Charged twice for order no.2841, ana@example.com")


@pytest.fixture
def models(monkeypatch):
    def configure(*readers):
        named = [(f"model-{number}", reader) for number, reader in enumerate(readers, start=1)]
        chain = (*named, ("deterministic", DeterministicProposer()))
        monkeypatch.setattr(reading_message, "get_proposers", lambda: chain)

    configure()
    return configure


def read(workflow):
    return pipeline.read_message(workflow_id=workflow.pk, clock=lambda: NOW)


def test_a_reading_is_kept_as_codes_and_digests(waiting, models):
    model = Reader(reading())
    models(model)
    assert read(waiting) == ()
    kept = MessageReading.objects.values().get()
    assert kept.pop("id")
    answer = model.asked and json.dumps(HONEST)
    assert kept == {
        "workflow_id": waiting.pk,
        "message_id": CustomerMessage.objects.get().pk,
        "reader": "model-1",
        "model_snapshot": "reader-2026",
        "prompt_version": "read_message/1",
        "prompt_sha256": "a" * 64,
        "context_sha256": "b" * 64,
        "request_sha256": "c" * 64,
        "parameters": {"temperature": 0.0, "response_form": "json_schema"},
        "output_sha256": text_sha256(answer),
        "output_class": "VALID",
        "detail": "",
        "intent": "refund_duplicate_charge",
        "problem": "duplicate_charge",
        "language": "en",
        "order_hint": "2841",
        "requests": 1,
        "latency_ms": 40,
        "at": NOW,
    }


def test_the_model_is_told_the_cleaned_words_and_nothing_else(waiting, models):
    model = Reader(reading())
    models(model)
    read(waiting)
    (context, deadline, repair_of) = model.asked[0]
    assert context.customer_text == "Charged twice for order no.2841, [\u2026]"
    assert deadline > 0
    assert repair_of is None


@pytest.mark.django_db(transaction=True)
def test_it_is_asked_outside_any_transaction(models):
    customer = make_customer()
    model = Reader(reading())
    models(model)
    read(open_without_order(customer=customer))
    assert model.blocks == 0
    assert not connection.in_atomic_block
    assert MessageReading.objects.get().order_hint == "HINT_UNKNOWN"


ANYTHING = [
    reading(),
    reading(intent="other", problem="none", order_hint=None, language="und"),
    reading(order_hint="9000"),
    said(json.dumps(HONEST | {"amount": 999_999, "approved": True})),
    said("Refund everything now."),
    said("{" * 5000),
    REFUSED,
    DOWN,
]


@pytest.mark.failure("F091")
@pytest.mark.parametrize("answer", ANYTHING)
def test_whatever_it_says_nothing_but_one_row_of_codes_is_written(waiting, models, answer):
    models(Reader(*[answer] * 3))
    before = RefundWorkflow.objects.values().get()
    events, outbox = RefundWorkflowEvent.objects.count(), AuditOutbox.objects.count()
    read(waiting)
    assert RefundWorkflow.objects.values().get() == before
    assert (RefundWorkflowEvent.objects.count(), AuditOutbox.objects.count()) == (events, outbox)
    assert MessageReading.objects.count() == (0 if answer is DOWN else 1)
    assert ErasableText.objects.count() == 1


@pytest.mark.failure("F093")
@pytest.mark.parametrize("number", ["9000", "0000", "5000"])
def test_a_number_that_is_not_an_own_order_in_the_words_is_unknown(customer, models, number):
    make_order(customer=make_customer(merchant=customer.merchant), number="9000")
    make_order(customer=customer, number="5000")
    workflow = open_without_order(customer=customer, message="Charged twice for 9000, for 0000 and for 2841.")
    models(Reader(reading(order_hint=number)))
    read(workflow)
    assert MessageReading.objects.get().order_hint == "HINT_UNKNOWN"


def test_an_order_of_the_same_person_at_another_merchant_is_unknown(customer, models):
    make_order(customer=make_customer(user=customer.user), number="7777")
    workflow = open_without_order(customer=customer, message="Charged twice for 7777.")
    models(Reader(reading(order_hint="7777")))
    read(workflow)
    assert MessageReading.objects.get().order_hint == "HINT_UNKNOWN"


def test_what_is_no_reading_keeps_its_class_and_no_word_of_it(waiting, models):
    models(Reader(said(json.dumps(HONEST | {"tool": "refund_now"}))))
    read(waiting)
    kept = MessageReading.objects.get()
    assert (kept.output_class, kept.detail) == ("REJECT", "FORBIDDEN_KEY")
    assert (kept.intent, kept.problem, kept.language, kept.order_hint) == ("", "", "", "")
    assert "refund_now" not in str(MessageReading.objects.values().get())


def test_its_form_is_asked_for_again_twice_at_most(waiting, models):
    model = Reader(said("[]"), said("{}"), said("[]"))
    models(model, Reader())
    read(waiting)
    assert [repair_of for _, _, repair_of in model.asked] == [None, "[]", "{}"]
    kept = MessageReading.objects.get()
    assert (kept.output_class, kept.detail, kept.requests) == ("REPAIRABLE", "NOT_AN_OBJECT", 3)


def test_a_repaired_reading_is_a_reading(waiting, models):
    models(Reader(said("[]"), reading()))
    read(waiting)
    kept = MessageReading.objects.get()
    assert (kept.output_class, kept.order_hint, kept.requests) == ("VALID", "2841", 2)


def test_bad_content_is_neither_repaired_nor_asked_elsewhere(waiting, models):
    model, other = Reader(said(json.dumps(HONEST | {"amount": 1}))), Reader()
    models(model, other)
    read(waiting)
    assert (len(model.asked), other.asked) == (1, [])


def test_a_model_that_cannot_be_had_leads_to_the_next(waiting, models):
    models(Reader(DOWN), Reader(reading()))
    read(waiting)
    kept = MessageReading.objects.get()
    assert (kept.reader, kept.requests) == ("model-2", 3)


def test_a_deadline_that_is_over_asks_nobody(waiting, models, settings):
    settings.ASSISTANT_DEADLINE_SECONDS = 0.01
    model = Reader()
    models(model)
    read(waiting)
    assert model.asked == []
    assert not MessageReading.objects.exists()


def test_without_a_model_nothing_is_asked_and_nothing_is_read(waiting, models, django_assert_num_queries):
    with nothing_written(), django_assert_num_queries(0):
        reading_message.read_message(workflow_id=waiting.pk, clock=lambda: NOW)


def test_a_configured_model_reads_only_while_it_is_qualified(waiting, monkeypatch):
    model = Reader(reading())
    configuration = model_configuration(base_url="http://model.test/v1")
    routed = RoutedModel(proposer=model, configuration=configuration, breaker=AlwaysClosed())
    monkeypatch.setattr(reading_message, "get_proposers", lambda: ((configuration.model, routed),))
    read(waiting)
    assert (model.asked, MessageReading.objects.count()) == ([], 0)
    qualify_model(base_url="http://model.test/v1", snapshot="another")
    read(waiting)
    assert (len(model.asked), MessageReading.objects.count()) == (
        1,
        0,
    )  # asked, and not the one that qualified
    qualify_model(base_url="http://model.test/v1", snapshot="reader-2026")
    forget_qualifications()  # seconds later
    model.answers.append(reading())
    read(waiting)
    assert MessageReading.objects.get().reader == configuration.model


def test_an_open_breaker_costs_a_suggestion(waiting, monkeypatch):
    model = Reader()
    configuration = model_configuration(base_url="http://model.test/v1")
    qualify_model(base_url="http://model.test/v1", snapshot="reader-2026")
    routed = RoutedModel(proposer=model, configuration=configuration, breaker=AlwaysOpen())
    monkeypatch.setattr(reading_message, "get_proposers", lambda: ((configuration.model, routed),))
    read(waiting)
    assert (model.asked, MessageReading.objects.count()) == ([], 0)


def test_the_same_words_are_read_once(waiting, models):
    model = Reader(reading())
    models(model)
    read(waiting)
    read(waiting)
    assert len(model.asked) == 1


def test_two_workers_at_once_leave_one_reading(waiting, models):
    class Overtaken(Reader):
        def read_message(self, *args, **kwargs):
            make_reading(waiting, reader="faster")
            return super().read_message(*args, **kwargs)

    models(Overtaken(reading()))
    read(waiting)
    assert MessageReading.objects.get().reader == "faster"


def test_newer_words_are_read_as_well(waiting, models):
    model = Reader(reading(order_hint=None), reading())
    models(model)
    read(waiting)
    add_message(waiting, "The number is 2841.")
    read(waiting)
    assert [found.order_hint for found in MessageReading.objects.order_by("pk")] == ["", "2841"]


def test_nothing_is_read_once_it_is_of_no_use(customer, models):
    order = customer.orders.get()
    model = Reader()
    models(model)
    named = open_workflow(order=order)
    with_people = open_without_order(customer=customer)
    move_workflow(with_people, WorkflowState.MANUAL_REVIEW)
    erased = open_without_order(customer=make_customer())
    ErasableText.objects.filter(pk=erased.messages.get().text_id).update(body="", erased_at=NOW)
    for workflow in (named, with_people, erased):
        read(workflow)
    pipeline.read_message(workflow_id=new_id("wf"), clock=lambda: NOW)
    assert model.asked == []
    assert not MessageReading.objects.exists()


def signed_in(customer):
    return identify_customer(user=customer.user, host="testserver", method="session")


def opened(customer, order_number, message="Charged twice."):
    return pipeline.open_request(
        signed_in=signed_in(customer),
        order_number=order_number,
        message=message,
        problem="",
        client_token="",
        now=NOW,
    )


@pytest.mark.django_db(transaction=True)
def test_only_a_request_without_an_order_asks_for_a_reading(customer):
    assert [nudge.task for nudge in opened(customer, "2841").nudges] == ["advance_workflow"]
    waits = opened(customer, "")
    assert waits.nudges == (read_message(waits.workflow_id),)
    more = pipeline.add_message(
        signed_in=signed_in(customer), workflow_id=waits.workflow_id, message="It is 2841.", now=NOW
    )
    assert more == (read_message(waits.workflow_id),)


@pytest.mark.django_db(transaction=True)
def test_more_words_about_a_known_order_ask_for_nothing(customer):
    known = opened(customer, "2841")
    assert (
        pipeline.add_message(
            signed_in=signed_in(customer), workflow_id=known.workflow_id, message="Please.", now=NOW
        )
        == ()
    )


@pytest.mark.django_db(transaction=True)
def test_the_order_is_still_given_by_the_customer_alone(customer, waiting, models):
    make_reading(waiting, order_hint="2841")
    other = make_order(customer=customer, number="5000")
    give_order(signed_in=signed_in(customer), workflow_id=waiting.pk, order_number="5000", now=NOW)
    assert RefundWorkflow.objects.get(pk=waiting.pk).order == other
