"""Which of the configured models is asked, and whose answer is taken."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from refunds.proposers import registry
from refunds.proposers.asking import MOST_REQUESTS, ask_in_order
from refunds.proposers.breaker import Outcome, Permit
from refunds.proposers.deterministic import DeterministicProposer
from refunds.proposers.port import Declined, DeclinedKind, Proposed, Unavailable, UnavailableKind
from refunds.proposers.prompts import PROMPT_VERSIONS, PROPOSE_ACTION, READ_MESSAGE
from refunds.proposers.qualification import Qualification, find_qualification
from refunds.proposers.reading import READING_SCHEMA_VERSION, ReadingContext
from refunds.proposers.reading_loop import ask_for_reading
from refunds.proposers.router import Admission, RoutedModel
from refunds.proposers.schema import SCHEMA_VERSION
from tests.factories.facts import NOW
from tests.factories.models import model_configuration
from tests.proposers.samples import GOOD_TEXT, context

URL = "https://models.example.com/v1"
INCOMPLETE = json.dumps({"recommended_action": "issue_refund"})
FORM = {"response_form": "json_schema"}


def said(text=GOOD_TEXT, *, snapshot="m-1", requests=1, parameters=FORM):
    return Proposed(
        raw_text=text,
        model_snapshot=snapshot,
        prompt_version="p",
        latency_ms=1,
        requests=requests,
        parameters=dict(parameters),
    )


def failed(kind=UnavailableKind.TIMEOUT, *, requests=1):
    return Unavailable(kind=kind, detail="", requests=requests, latency_ms=1)


def qualified(configuration, **changes):
    sound = {
        "model": configuration.model,
        "configuration_sha256": configuration.sha256,
        "endpoint_sha256": configuration.endpoint_sha256,
        "snapshot": "m-1",
        "response_form": "json_schema",
        "passed": True,
        "expires_at": NOW + timedelta(days=1),
    }
    return Qualification(**(sound | changes))


class Scripted:
    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def propose(self, context, *, deadline_seconds, repair_of=None):
        self.asked.append((context, deadline_seconds, repair_of))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Ledger:
    """A breaker that says what it is told to, and remembers what it heard."""

    def __init__(self, *, allowed=True):
        self.allowed, self.heard = allowed, []

    def admit(self):
        return Permit(allowed=self.allowed, token="t")

    def report(self, permit, outcome, *, asked_for):
        assert permit.token == "t"
        self.heard.append((outcome, asked_for))

    def release(self, permit):
        assert permit.token == "t"
        self.heard.append("released")


class Model:
    """One routed model with its scripted answers."""

    def __init__(self, name, *answers, allowed=True):
        self.name, self.proposer, self.breaker = name, Scripted(*answers), Ledger(allowed=allowed)
        self.configuration = model_configuration(base_url=URL, model=name)
        self.routed = RoutedModel(
            proposer=self.proposer, configuration=self.configuration, breaker=self.breaker
        )


def ask(*models, qualifications=None, deadline=10.0):
    line = (*((model.name, model.routed) for model in models), ("deterministic", DeterministicProposer()))
    known = [qualified(model.configuration) for model in models] if qualifications is None else qualifications
    admission = Admission(now=NOW, qualifications=tuple(known), asked_for="customer-7")
    return ask_in_order(line, context(), deadline_seconds=deadline, admission=admission)


def test_the_first_qualified_model_answers_and_its_breaker_hears_of_it():
    first, second = Model("first", said()), Model("second")
    outcome = ask(first, second)
    assert (outcome.proposer, outcome.unavailable, outcome.requests) == ("first", (), 1)
    assert first.breaker.heard == [(Outcome.ANSWERED, "customer-7")]
    assert second.proposer.asked == second.breaker.heard == []


def test_who_is_not_qualified_is_never_asked_and_rules_answer_in_the_end():
    first, second = Model("first"), Model("second")
    outcome = ask(first, second, qualifications=())
    assert (outcome.proposer, outcome.requests) == ("deterministic", 0)
    assert outcome.unavailable == ("first:NOT_QUALIFIED", "second:NOT_QUALIFIED")
    assert first.proposer.asked == first.breaker.heard == []


def test_the_demo_may_ask_whom_nobody_tried_and_the_breaker_still_counts():
    model = Model("first", said(snapshot="another"))
    model.routed = replace(model.routed, admits_any=True)
    outcome = ask(model, qualifications=())
    assert (outcome.proposer, outcome.answer.model_snapshot) == ("first", "another")
    assert model.breaker.heard == [(Outcome.ANSWERED, "customer-7")]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"passed": False}, UnavailableKind.NOT_QUALIFIED),
        ({"configuration_sha256": "0" * 64}, UnavailableKind.NOT_QUALIFIED),
        ({"expires_at": NOW}, UnavailableKind.QUALIFICATION_EXPIRED),
        ({"expires_at": NOW - timedelta(days=400)}, UnavailableKind.QUALIFICATION_EXPIRED),
    ],
)
def test_a_failed_foreign_or_expired_evaluation_admits_nobody(changes, kind):
    model = Model("first")
    outcome = ask(model, qualifications=[qualified(model.configuration, **changes)])
    assert (outcome.proposer, outcome.unavailable) == ("deterministic", (f"first:{kind}",))
    assert model.proposer.asked == []


@pytest.mark.parametrize(
    "changed",
    [
        {"base_url": "https://other.example.com/v1"},
        {"prompt_version": "propose_action/2"},
        {"prompt_version": PROMPT_VERSIONS.replace(READ_MESSAGE.label, "read_message/0")},
        {"schema_version": f"action/0 reading/{READING_SCHEMA_VERSION}"},
        {"schema_version": f"action/{SCHEMA_VERSION} reading/0"},
        {"parameters": {"temperature": 1.0}},
        {"model": "first-large"},
    ],
)
def test_a_qualification_is_of_exactly_one_configuration(changed):
    honest = {"base_url": URL, "model": "first"}
    known = [qualified(model_configuration(**honest))]
    now_used = model_configuration(**(honest | changed))
    assert find_qualification(now_used, known, now=NOW) is UnavailableKind.NOT_QUALIFIED
    assert find_qualification(model_configuration(**honest), known, now=NOW) == known[0]


def test_a_configuration_is_of_both_questions_and_both_forms():
    configuration = registry.configuration_of("first")
    assert configuration.prompt_version.split() == [PROPOSE_ACTION.label, READ_MESSAGE.label]
    assert configuration.schema_version.split() == [
        f"action/{SCHEMA_VERSION}",
        f"reading/{READING_SCHEMA_VERSION}",
    ]


@pytest.mark.parametrize(
    "answer",
    [
        said(snapshot="m-2"),
        said(parameters={"response_form": "json_object"}),
        Declined(
            kind=DeclinedKind.REFUSAL,
            detail="",
            model_snapshot="m-2",
            prompt_version="p",
            latency_ms=1,
            requests=1,
            parameters=FORM,
        ),
    ],
    ids=["another snapshot", "another form", "another one declines"],
)
def test_the_answer_of_a_changed_model_is_not_taken_and_the_next_is_asked(answer):
    first, second = Model("first", answer), Model("second", said())
    outcome = ask(first, second)
    assert (outcome.proposer, outcome.requests) == ("second", 2)
    assert outcome.unavailable == ("first:MODEL_CHANGED",)
    assert first.breaker.heard == [(Outcome.ANSWERED, "customer-7")]  # the endpoint is well


def test_a_repair_that_another_snapshot_answers_is_not_taken():
    first = Model("first", said(INCOMPLETE), said(snapshot="m-2"))
    outcome = ask(first)
    assert (outcome.proposer, outcome.defect) == ("first", "MISSING_FIELD")


def test_an_open_breaker_passes_to_the_next():
    first, second = Model("first", allowed=False), Model("second", said())
    outcome = ask(first, second)
    assert (outcome.proposer, outcome.unavailable) == ("second", ("first:CIRCUIT_OPEN",))
    assert first.proposer.asked == first.breaker.heard == []


def test_the_breaker_hears_of_failures_and_not_of_questions_that_were_never_asked():
    timed_out, unasked = Model("first", failed()), Model("second", failed(requests=0))
    outcome = ask(timed_out, unasked)
    assert outcome.unavailable == ("first:TIMEOUT", "second:TIMEOUT")
    assert timed_out.breaker.heard == [(Outcome.TIMED_OUT, "customer-7")]
    assert unasked.breaker.heard == ["released"]


def test_a_proposer_that_breaks_gives_its_place_back():
    model = Model("first", KeyError("a mistake of ours"))
    with pytest.raises(KeyError):
        ask(model)
    assert model.breaker.heard == ["released"]


def test_bad_content_is_not_taken_elsewhere():
    first, second = Model("first", said("nonsense " * 2000)), Model("second", said())
    outcome = ask(first, second)
    assert (outcome.proposer, outcome.defect, outcome.unavailable) == ("first", "TOO_LARGE", ())
    assert second.proposer.asked == []


def test_all_layers_together_make_at_most_so_many_requests():
    """A repair is asked for only while fewer than three requests were made, and makes at most three itself."""
    worst = Model("first", said(INCOMPLETE), said(INCOMPLETE, requests=1), said(INCOMPLETE, requests=3))
    assert ask(worst).requests == MOST_REQUESTS == 5
    early = Model("first", said(INCOMPLETE, requests=3))
    assert ask(early).requests == 3
    late = Model("first", said(INCOMPLETE, requests=2), said(INCOMPLETE, requests=3), said())
    assert ask(late).requests == 5


class Reader(Scripted):
    read_message = Scripted.propose


def read(*models, deadline=10.0):
    line = (*((model.name, model.routed) for model in models), ("deterministic", DeterministicProposer()))
    known = [qualified(model.configuration) for model in models]
    admission = Admission(now=NOW, qualifications=tuple(known), asked_for="customer-7")
    words = ReadingContext(customer_text="Twice, for #2841.")
    return ask_for_reading(line, words, deadline_seconds=deadline, admission=admission)


def reader(name, *answers):
    model = Model(name)
    model.proposer = Reader(*answers)
    model.routed = replace(model.routed, proposer=model.proposer)
    return model


def test_a_reading_makes_no_more_requests_than_a_proposal():
    half = json.dumps({"intent": "other"})
    worst = reader("first", said(half), said(half, requests=1), said(half, requests=3))
    assert read(worst).requests == MOST_REQUESTS
    early = reader("first", said(half, requests=3))
    assert read(early).requests == 3


def test_a_reader_leaves_time_for_the_next_one():
    models = [reader(name, failed()) for name in ("first", "second")]
    assert read(*models, deadline=10.0) is None
    first, second = (model.proposer.asked[0][1] for model in models)
    assert first == pytest.approx(6, abs=0.5)
    assert second == pytest.approx(10, abs=0.5)


def test_each_model_but_the_last_leaves_time_for_the_next():
    models = [Model(name, failed()) for name in ("first", "second", "third")]
    ask(*models, deadline=10.0)
    given = [model.proposer.asked[0][1] for model in models]
    assert given == pytest.approx([6.0, 6.0, 10.0], abs=0.2)  # nobody took any of it


@pytest.fixture
def configured(settings):
    registry.get_proposers.cache_clear()
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = URL, "k"
    settings.ASSISTANT_MODELS, settings.ASSISTANT_PARAMETERS = ("first", "second"), {"temperature": 0}
    yield
    registry.get_proposers.cache_clear()


def test_every_configured_model_stands_behind_its_qualification(configured):
    *models, (last, deterministic) = registry.get_proposers()
    assert [name for name, _ in models] == ["first", "second"]
    assert all(isinstance(model, RoutedModel) for _, model in models)
    assert (last, type(deterministic)) == ("deterministic", DeterministicProposer)
    assert [model.configuration.parameters["temperature"] for _, model in models] == [0.0, 0.0]
    assert len({model.configuration.endpoint_sha256 for _, model in models}) == 2


def test_a_configuration_shows_no_password():
    configuration = model_configuration(base_url="https://desk:canary-7731@models.example.com/v1")
    assert "canary-7731" not in repr(configuration)
    assert configuration.host == "models.example.com"
