"""What a draft may say beside the state of the moment; the corpus is our own words."""

import time
from dataclasses import replace

import pytest

from refunds.proposers.showing import Standing, reasons_to_drop

WITH_PEOPLE = Standing(
    duplicate_verified=True, approved=False, with_people=True, references=("2841", "RF-AB12-CD34")
)
APPROVED = Standing(duplicate_verified=True, approved=True, with_people=False)
UNCLEAR = Standing(duplicate_verified=False, approved=False, with_people=True)


@pytest.mark.parametrize(
    "draft",
    [
        "Thank you for explaining this. A colleague should look at it, so I have asked one.",
        "Thank you for your patience. Our team is looking at your request.",
        "I can see the duplicate charge on order #2841, and a colleague is looking at it.",
        "I'm sorry for the trouble. Somebody from our team has your request RF-AB12-CD34.",
    ],
)
def test_what_the_state_bears_out_may_be_shown_while_people_decide(draft):
    assert reasons_to_drop(draft, WITH_PEOPLE) == ()


@pytest.mark.parametrize(
    "draft",
    [
        "I verified the duplicate charge and can submit it for refund.",
        "I checked the payment records: this is a duplicate charge, and I can submit it for refund.",
    ],
)
def test_a_possible_refund_is_said_only_where_it_was_approved(draft):
    assert reasons_to_drop(draft, APPROVED) == ()
    assert reasons_to_drop(draft, WITH_PEOPLE) == ("REFUND_CLAIM",)


@pytest.mark.failure("F090")
@pytest.mark.parametrize(
    "draft",
    [
        "You will have the money within 3 days under our goodwill rule.",
        "Your money is on the way.",
        "We will refund $49.99 to your card.",
        "Your refund was approved.",
        "It should arrive by Friday.",
        "We owe you a voucher for the trouble.",
        "See https://example.com/refund for the status.",
        "Call us at +1 202 555 0143.",
        "Write to grace@example.com.",
        "<b>Approved</b>, thank you for your patience.",
        "![status](https://example.com/a.png) Thank you for your patience.",
        "The charge of order 9000 belongs to somebody else.",
    ],
)
@pytest.mark.parametrize("standing", [WITH_PEOPLE, APPROVED, UNCLEAR])
def test_what_no_model_can_know_is_never_shown(draft, standing):
    assert reasons_to_drop(draft, standing) != ()


@pytest.mark.parametrize(
    ("draft", "standing", "code"),
    [
        ("I can see that you were charged twice, so a colleague looks at it.", UNCLEAR, "FINDING_CLAIM"),
        ("This is a duplicate, and a colleague looks at it.", UNCLEAR, "FINDING_CLAIM"),
        ("You were overcharged, and a colleague looks at it.", UNCLEAR, "FINDING_CLAIM"),
        ("There is no duplicate on your order.", WITH_PEOPLE, "CONTRADICTS_FINDING"),
        ("This was only a temporary hold on your card.", WITH_PEOPLE, "CONTRADICTS_FINDING"),
        ("You were not charged twice for this.", WITH_PEOPLE, "CONTRADICTS_FINDING"),
        ("Both are valid charges of your order.", WITH_PEOPLE, "CONTRADICTS_FINDING"),
        ("A colleague looks at your request.", APPROVED, "PEOPLE_CLAIM"),
        ("The team has your request and will answer soon.", WITH_PEOPLE, "SOON"),
        ("Thank you, Maria, for your patience with this.", WITH_PEOPLE, "NAME"),
        ("Maria bought the same kettle as you did.", WITH_PEOPLE, "NAME"),
        ("Thank you. Mr Keller has your request and looks at it.", WITH_PEOPLE, "NAME"),
        ("The other buyer lives in Lisbon and is in the same case.", WITH_PEOPLE, "NAME"),
    ],
)
def test_a_claim_beyond_the_state_is_dropped(draft, standing, code):
    assert code in reasons_to_drop(draft, standing)


@pytest.mark.parametrize(
    "draft", ["a" * 20_001, "A " * 9_000, "so far. " * 2_400, "\u2019" * 5_000, "no " * 6_000]
)
def test_a_long_draft_is_dropped_within_a_second(draft):
    began = time.perf_counter()
    assert "TOO_LONG" in reasons_to_drop(draft, WITH_PEOPLE)
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize(
    ("draft", "private"),
    [
        ("Thank you for explaining it. I looked at your request.", "Explaining a lot, returned thrice."),
        ("Thank you. A person has your case.", "Her bank has your case too."),
        ("Thank you for the wait. Your case is with the team.", "WITH THE TEAM since May"),
    ],
)
def test_what_the_customer_was_not_told_is_not_repeated(draft, private):
    assert reasons_to_drop(draft, WITH_PEOPLE) == ()
    assert reasons_to_drop(draft, replace(WITH_PEOPLE, private_texts=("", private))) == ("REPEATS_PRIVATE",)


@pytest.mark.parametrize("private", ["", "Ring the bell.", "Gift wrap, red."])
def test_a_note_about_something_else_drops_nothing(private):
    draft = "Thank you for your patience. Our team is looking at your request."
    assert reasons_to_drop(draft, replace(WITH_PEOPLE, private_texts=(private,))) == ()


@pytest.mark.parametrize("draft", ["\u2026", "?!", "2841"])
def test_a_draft_without_words_is_dropped(draft):
    assert "NO_WORDS" in reasons_to_drop(draft, WITH_PEOPLE)


def test_a_word_of_the_cases_codes_is_no_secret_and_what_stands_around_it_is():
    private = "Duplicate charges: ask the courier whether it was suspicious."
    codes = frozenset({"duplicate", "charges"})
    standing = replace(WITH_PEOPLE, duplicate_verified=True, private_texts=(private,), plain_words=codes)
    draft = "Thank you. We can see the duplicate charges on your order."
    assert reasons_to_drop(draft, standing) == ()
    assert reasons_to_drop(draft, replace(standing, plain_words=frozenset())) == ("REPEATS_PRIVATE",)
    for told in ("Somebody asks the courier.", "Duplicate charges ask a lot of you.", "It was suspicious."):
        assert "REPEATS_PRIVATE" in reasons_to_drop(told, standing)
