"""What a reading is, which texts become one, and which hints are kept."""

import dataclasses
import json

import pytest

from refunds.proposers.prompts import reading_question
from refunds.proposers.reading import (
    MessageIntent,
    MessageProblem,
    MessageReader,
    ParsedReading,
    ReadingContext,
    hinted_number,
    parse_reading,
)
from refunds.proposers.schema import Malformed, ProposalClass
from tests.proposers.asking import proposer_at

HONEST = {
    "intent": "refund_duplicate_charge",
    "problem": "duplicate_charge",
    "order_hint": "2841",
    "language": "en",
}


def reading_text(**changes):
    return json.dumps(HONEST | changes)


def test_a_whole_reading_is_valid():
    reading = parse_reading(reading_text())
    assert reading == ParsedReading(
        intent=MessageIntent.REFUND_DUPLICATE_CHARGE,
        problem=MessageProblem.DUPLICATE_CHARGE,
        order_hint="2841",
        language="en",
    )
    assert reading.proposal_class is ProposalClass.VALID
    assert "2841" not in repr(reading)


@pytest.mark.parametrize("changes", [{"order_hint": None}, {"order_hint": ""}])
def test_no_hint_is_none(changes):
    assert parse_reading(reading_text(**changes)).order_hint is None


@pytest.mark.parametrize("intent", list(MessageIntent))
@pytest.mark.parametrize("problem", list(MessageProblem))
def test_every_member_is_valid(intent, problem):
    reading = parse_reading(reading_text(intent=intent, problem=problem, language="und"))
    assert (reading.intent, reading.problem, reading.language) == (intent, problem, "und")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"```json\n{reading_text()}\n```", "CODE_FENCE"),
        (f"\ufeff{reading_text()}", "BYTE_ORDER_MARK"),
        (reading_text() + reading_text(), "SEVERAL_OBJECTS"),
        (reading_text()[:-10], "NOT_JSON"),
        (f"Here it is: {reading_text()}", "NOT_JSON"),
        (reading_text() + " I hope that helps.", "TRAILING_TEXT"),
        ("[]", "NOT_AN_OBJECT"),
        ("{}", "MISSING_FIELD"),
        (reading_text(mood="calm"), "EXTRA_FIELD"),
        (reading_text(intent="Refund-Duplicate-Charge"), "WRONG_ENUM"),
        (reading_text(intent=4), "WRONG_TYPE"),
        (reading_text(problem=None), "WRONG_TYPE"),
        (reading_text(order_hint=2841), "WRONG_TYPE"),
        (reading_text(order_hint="2" * 66), "MESSAGE_TOO_LONG"),
        (reading_text(language="English"), "WRONG_ENUM"),
        (reading_text(language=""), "EMPTY_MESSAGE"),
    ],
)
def test_a_defect_of_form_may_be_asked_for_again(text, reason):
    assert parse_reading(text) == Malformed(repairable=True, reason=reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x" * 8193, "TOO_LARGE"),
        (b"\xff\xfe", "NOT_UTF8"),
        (reading_text(amount=4999), "FORBIDDEN_KEY"),
        (reading_text(customer_id="C-1"), "FORBIDDEN_KEY"),
        (reading_text(tool="refund_now"), "FORBIDDEN_KEY"),
        (reading_text(approved=True), "FORBIDDEN_KEY"),
        (reading_text(order_hint="28\u202e41"), "UNSAFE_CHARACTERS"),
        (reading_text(intent="delete all of 999 orders!"), "UNKNOWN_REASON"),
        (reading_text(order_hint="https://evil.example/x", mood="calm"), "UNSAFE_TEXT"),
        (f"```\n{reading_text(order_hint='your refund was issued')}\n```", "UNSAFE_TEXT"),
        (reading_text() + reading_text(intent="other"), "CONTRADICTORY_OBJECTS"),
        ('{"intent": "other", "intent": "order_question"}', "CONTRADICTORY_KEYS"),
        ("[" * 40 + "]" * 40, "TOO_DEEP"),
    ],
)
def test_what_is_invented_or_unsafe_is_never_asked_for_again(text, reason):
    assert parse_reading(text) == Malformed(repairable=False, reason=reason)


@pytest.mark.parametrize(
    ("hint", "text", "kept"),
    [
        ("2841", "Order #2841 was charged twice.", "2841"),
        ("#2841", "Order 2841 was charged twice.", "2841"),
        ("2841", "It is order no.2841, twice", "2841"),
        ("A-17/b", "twice for A-17/b!", "A-17/b"),
        ("2841", "Order 28411 was charged twice.", None),
        ("2841", "Order X2841 was charged twice.", None),
        ("2842", "Order 2841 was charged twice.", None),
        ("a-17/B", "twice for A-17/b!", None),
        ("2841", "\uff12\uff18\uff14\uff11", None),
        ("\uff12\uff18\uff14\uff11", "\uff12\uff18\uff14\uff11", None),
        (None, "Order 2841 was charged twice.", None),
        ("#", "# # #", None),
    ],
)
def test_a_hint_counts_only_where_it_literally_stands_in_the_words(hint, text, kept):
    reading = parse_reading(reading_text(order_hint=hint))
    assert hinted_number(reading, ReadingContext(customer_text=text)) == kept


@pytest.mark.parametrize("text", ["", "a" * 1001, "a\u202eb", "a\x00b"])
def test_a_context_takes_prepared_words_only(text):
    with pytest.raises(ValueError):
        ReadingContext(customer_text=text)


def test_a_context_has_no_room_for_anything_but_the_words():
    assert [field.name for field in dataclasses.fields(ReadingContext)] == ["customer_text"]
    assert "canary" not in repr(ReadingContext(customer_text="canary"))


def test_exactly_the_words_leave_the_process(simulator):
    model = proposer_at(simulator.url)
    assert isinstance(model, MessageReader)
    result = model.read_message(ReadingContext(customer_text="Twice, for #2841."), deadline_seconds=10)

    (entry,) = simulator.log()
    request = entry["body"]
    assert set(request) == {"model", "messages", "response_format", "max_completion_tokens"}
    system, user = request["messages"]
    assert json.loads(user["content"]) == {"customer_text": "Twice, for #2841."}
    question = reading_question(ReadingContext(customer_text="Twice, for #2841."))
    assert system["content"] == question.template.instructions
    form = request["response_format"]["json_schema"]
    assert (form["name"], form["strict"]) == ("message_reading", True)
    assert form["schema"]["properties"]["order_hint"] == {"type": ["string", "null"]}
    assert (result.prompt_version, result.context_sha256) == ("read_message/1", question.context_sha256)
    assert parse_reading(result.raw_text) == parse_reading(reading_text())


def test_a_repair_tells_the_defect_and_the_earlier_answer_as_data(simulator):
    fenced = f"```json\n{reading_text()}\n```"
    model = proposer_at(simulator.url)
    model.read_message(ReadingContext(customer_text="Twice."), deadline_seconds=10, repair_of=fenced)

    messages = simulator.log()[0]["body"]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "user"]
    correction = json.loads(messages[2]["content"])["correction"]
    assert (correction["defect"], correction["previous_answer"]) == ("CODE_FENCE", fenced)


@pytest.mark.parametrize("rejected", [reading_text(amount=1), reading_text()])
def test_what_is_not_repairable_is_never_asked_for_again(simulator, rejected):
    with pytest.raises(ValueError):
        proposer_at(simulator.url).read_message(
            ReadingContext(customer_text="Twice."), deadline_seconds=10, repair_of=rejected
        )
    assert simulator.log() == []
