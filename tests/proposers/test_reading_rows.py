"""The rows about reading a message: which are refused, who passes them, and what each wrong field is called."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refunds.proposers.evaluation.jobs import customer_words
from refunds.proposers.evaluation.reading_job import ReadingJob
from refunds.proposers.evaluation.rows import Area, EvaluationRow, EvaluationSetError, read_set
from refunds.proposers.port import Declined, DeclinedKind, Proposed
from refunds.proposers.reading import MessageIntent, MessageProblem

ROWS = [row for row in read_set().rows if row.job == "reading"]
LANGUAGES = {"en", "de", "fr", "es", "it", "nl"}
HONEST = {
    "intent": "refund_duplicate_charge",
    "problem": "duplicate_charge",
    "order_hint": "2841",
    "language": "en",
}
ANSWERED = {"model_snapshot": "m-1", "prompt_version": "p", "latency_ms": 10, "requests": 1}
every_row = pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])


class Reader:
    """Gives one answer, and remembers what it was told."""

    def __init__(self, answer=""):
        self.answer, self.told = answer, []

    def read_message(self, context, *, deadline_seconds, repair_of=None):
        assert (deadline_seconds, repair_of) == (5, None)
        self.told.append(context.customer_text)
        return Proposed(raw_text=self.answer, **ANSWERED) if isinstance(self.answer, str) else self.answer


def faults_of(row, answer):
    return ReadingJob(Reader(answer)).ask(row, deadline_seconds=5).faults


def right(row, **changes):
    return json.dumps(row.given["reading"] | changes)


def test_they_cover_intents_languages_hints_and_every_area():
    readings = [row.given["reading"] for row in ROWS]
    of_intent = [row.given["reading"] for row in ROWS if row.area is Area.INTENT]
    assert {reading["intent"] for reading in of_intent} == set(MessageIntent)
    assert {reading["language"] for reading in of_intent} == LANGUAGES
    assert {reading["problem"] for reading in readings} == set(MessageProblem)
    assert {reading["language"] for reading in readings} > LANGUAGES | {"und"}
    assert {reading["order_hint"] is None for reading in readings} == {True, False}
    assert {row.area for row in ROWS} == set(Area) - {Area.PROPOSAL}
    assert 24 <= len(ROWS) <= 32


@every_row
def test_a_perfect_reader_passes(row):
    ReadingJob(Reader()).check(row)
    assert faults_of(row, right(row)) == ()


fields = st.one_of(
    st.tuples(st.just("intent"), st.sampled_from(list(map(str, MessageIntent)))),
    st.tuples(st.just("problem"), st.sampled_from(list(map(str, MessageProblem)))),
    st.tuples(st.just("language"), st.sampled_from(sorted(LANGUAGES | {"und", "pl", "ja", "pt", "deu"}))),
)


@given(row=st.sampled_from(ROWS), field=fields)
def test_one_wrong_field_fails_the_row_and_is_named(row, field):
    name, value = field
    wrong = value != row.given["reading"][name]
    assert faults_of(row, right(row, **{name: value})) == ((f"WRONG_{name.upper()}",) if wrong else ())


@given(row=st.sampled_from(ROWS), digits=st.integers(10_000_000, 99_999_999))
def test_a_hint_that_does_not_stand_in_the_words_is_a_fault_whatever_is_right(row, digits):
    assert str(digits) not in customer_words(row.given)
    assert faults_of(row, right(row, order_hint=str(digits))) == ("INVENTED_HINT",)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("RF1", "5203"), ("RF1", "5204"), ("RF2", "1250"), ("RF2", "2026"), ("RT2", "80000"), ("N04", None)],
)
def test_a_number_of_somebody_or_something_else_and_a_missing_one_are_wrong(name, hint):
    (row,) = (row for row in ROWS if row.id == name)
    assert faults_of(row, right(row, order_hint=hint)) == ("WRONG_HINT",)


def test_a_masked_card_is_no_number_to_hint_at():
    (row,) = (row for row in ROWS if "4242" in row.given["customer_text"])
    assert "4242" not in customer_words(row.given)
    assert faults_of(row, right(row, order_hint="4242")) == ("INVENTED_HINT",)


def test_every_fault_is_named():
    row = reading_row()
    wrong = json.dumps({"intent": "other", "problem": "none", "order_hint": None, "language": "de"})
    assert faults_of(row, wrong) == ("WRONG_INTENT", "WRONG_PROBLEM", "WRONG_LANGUAGE", "WRONG_HINT")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"```json\n{json.dumps(HONEST)}\n```", "CODE_FENCE"),
        ("It was charged twice.", "NOT_JSON"),
        (json.dumps(HONEST | {"mood": "calm"}), "EXTRA_FIELD"),
        (json.dumps(HONEST | {"amount": 4999}), "FORBIDDEN_KEY"),
        ("{}", "MISSING_FIELD"),
    ],
)
def test_a_defect_of_form_is_a_fault_and_nothing_is_asked_again(text, code):
    reader = Reader(text)
    assert ReadingJob(reader).ask(reading_row(), deadline_seconds=5).faults == (code,)
    assert len(reader.told) == 1


@pytest.mark.parametrize("kind", DeclinedKind)
def test_a_reader_that_declines_or_calls_a_tool_fails(kind):
    declined = Declined(kind=kind, detail="x", **ANSWERED)
    result = ReadingJob(Reader(declined)).ask(reading_row(), deadline_seconds=5)
    assert (result.faults, result.snapshot) == ((str(kind),), "m-1")


def test_a_long_message_is_as_long_as_one_can_be_and_ends_with_what_matters():
    for row in (row for row in ROWS if row.area is Area.CONTEXT):
        reader = Reader(right(row))
        ReadingJob(reader).ask(row, deadline_seconds=5)
        (told,) = reader.told
        assert len(told) > 990
        assert told.endswith(row.given["ending"])
        assert told.count(row.given["ending"]) == 1


def reading_row(**changes):
    given = {"customer_text": "You charged order 2841 twice.", "reading": HONEST} | changes
    return EvaluationRow(
        id="X1",
        area=Area.INTENT,
        job="reading",
        given={name: value for name, value in given.items() if value != "absent"},
    )


def test_the_sound_row_is_sound():
    ReadingJob(Reader()).check(reading_row())


@pytest.mark.parametrize(
    "wrong",
    [
        {"readings": HONEST},
        {"actions": ["ask_person"]},
        {"reading": "absent"},
        {"reading": [HONEST]},
        {"reading": HONEST | {"intent": "refund"}},
        {"reading": HONEST | {"language": "English"}},
        {"reading": HONEST | {"order_hint": 2841}},
        {"reading": HONEST | {"order_hint": "2842"}},
        {"reading": HONEST | {"order_hint": "284"}},
        {"reading": HONEST | {"amount": 4999}},
        *({"reading": {name: HONEST[name] for name in set(HONEST) - {gone}}} for gone in HONEST),
        {"customer_text": "absent"},
        {"customer_text": None},
        {"customer_text": " "},
        {"customer_text": 2841},
        {"customer_text": "My card 4242 4242 4242 4242, twice.", "reading": HONEST | {"order_hint": "4242"}},
        {"ending": "2841"},
        {"fill": True, "ending": 2841},
    ],
)
def test_a_row_that_could_not_be_judged_or_that_no_reading_meets_is_refused(wrong):
    with pytest.raises(EvaluationSetError, match="X1"):
        ReadingJob(Reader()).check(reading_row(**wrong))
