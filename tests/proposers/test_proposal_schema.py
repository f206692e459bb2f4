import json
import time
import tracemalloc

import pytest
from jsonschema import Draft202012Validator

from refunds.proposers.schema import (
    MAX_MESSAGE,
    MAX_PROPOSAL_BYTES,
    PROPOSAL_SCHEMA,
    Malformed,
    ParsedProposal,
    ProposalReason,
    ProposedAction,
    parse_proposal,
)
from tests.proposers.samples import GOOD, GOOD_TEXT, MESSAGE, proposal_text


def names_in(schema):
    """Every property name at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for value in schema.values():
            yield from names_in(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from names_in(value)


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(PROPOSAL_SCHEMA)


def test_the_schema_has_exactly_the_four_fields_of_the_article_and_all_are_required():
    assert set(names_in(PROPOSAL_SCHEMA)) == set(GOOD)
    assert set(PROPOSAL_SCHEMA["required"]) == set(GOOD)
    assert PROPOSAL_SCHEMA["additionalProperties"] is False


@pytest.mark.parametrize(
    "forbidden",
    [
        "amount",
        "currency",
        "tenant",
        "merchant",
        "transaction",
        "payment",
        "charge",
        "order",
        "account",
        "_id",
    ],
)
def test_no_field_could_carry_what_only_trusted_code_knows(forbidden):
    assert [name for name in names_in(PROPOSAL_SCHEMA) if forbidden in name] == []


def test_only_the_message_to_the_customer_names_the_customer():
    assert [name for name in names_in(PROPOSAL_SCHEMA) if "customer" in name] == ["customer_message"]


def test_no_field_takes_a_number_an_object_or_a_list():
    assert {field["type"] for field in PROPOSAL_SCHEMA["properties"].values()} == {"string", "boolean"}


@pytest.mark.parametrize(
    "raw",
    [
        GOOD_TEXT,
        GOOD_TEXT.encode(),
        json.dumps(GOOD, indent=4) + "\n",
        json.dumps(GOOD, ensure_ascii=True, sort_keys=True),
        GOOD_TEXT + " " * 1000,
    ],
)
def test_a_well_formed_proposal_is_read(raw):
    assert parse_proposal(raw) == ParsedProposal(
        recommended_action=ProposedAction.ISSUE_REFUND,
        reason_code=ProposalReason.VERIFIED_DUPLICATE_CHARGE,
        requires_human_review=False,
        customer_message=MESSAGE,
    )


@pytest.mark.parametrize(
    "message",
    [
        "Thank you \U0001f44d\U0001f3fd for writing to us.",
        "Two lines,\nboth fine.\tAnd a tab.",
        "Caf\u00e9, na\u00efve, \u201cquoted\u201d \u2013 all fine.",
        "Family emoji \U0001f468\u200d\U0001f469\u200d\U0001f467 with joiners.",
        "x" * MAX_MESSAGE,
    ],
)
def test_an_ordinary_message_is_kept_as_it_is(message):
    parsed = parse_proposal(proposal_text(customer_message=message))

    assert isinstance(parsed, ParsedProposal)
    assert parsed.customer_message == message


FORM = [
    ("byte order mark", "\ufeff" + GOOD_TEXT, "BYTE_ORDER_MARK"),
    ("byte order mark in bytes", b"\xef\xbb\xbf" + GOOD_TEXT.encode(), "BYTE_ORDER_MARK"),
    ("fence", f"```json\n{GOOD_TEXT}\n```", "CODE_FENCE"),
    ("fence without language", f"```\n{GOOD_TEXT}\n```", "CODE_FENCE"),
    ("unclosed fence", f"```json\n{GOOD_TEXT}", "CODE_FENCE"),
    ("nothing", "", "NOT_JSON"),
    ("blanks", " \n ", "NOT_JSON"),
    ("prose", "I would ask a colleague about this.", "NOT_JSON"),
    ("prose before", f"Here it is: {GOOD_TEXT}", "NOT_JSON"),
    ("prose after", f"{GOOD_TEXT} I hope this helps.", "TRAILING_TEXT"),
    ("cut off", GOOD_TEXT[:-30], "NOT_JSON"),
    ("single quotes", GOOD_TEXT.replace('"', "'"), "NOT_JSON"),
    ("trailing comma", GOOD_TEXT[:-1] + ",}", "NOT_JSON"),
    ("comment", GOOD_TEXT[:-1] + "/* done */}", "NOT_JSON"),
    ("raw line break in a string", GOOD_TEXT.replace("duplicate charge", "duplicate\ncharge"), "NOT_JSON"),
    ("the same object twice", f"{GOOD_TEXT}\n{GOOD_TEXT}", "SEVERAL_OBJECTS"),
    ("list of one", f"[{GOOD_TEXT}]", "NOT_AN_OBJECT"),
    ("null", "null", "NOT_AN_OBJECT"),
    ("a text", '"issue_refund"', "NOT_AN_OBJECT"),
    ("repeated key", GOOD_TEXT[:-1] + ', "requires_human_review": false}', "DUPLICATE_KEY"),
    ("NaN", GOOD_TEXT.replace("false", "NaN"), "NON_FINITE_NUMBER"),
    ("minus infinity", GOOD_TEXT.replace("false", "-Infinity"), "NON_FINITE_NUMBER"),
    ("number for boolean", proposal_text(requires_human_review=0), "WRONG_TYPE"),
    ("text for boolean", proposal_text(requires_human_review="false"), "WRONG_TYPE"),
    ("null message", proposal_text(customer_message=None), "WRONG_TYPE"),
    ("object for text", proposal_text(customer_message={"text": "hello"}), "WRONG_TYPE"),
    ("list for enum", proposal_text(recommended_action=["issue_refund"]), "WRONG_TYPE"),
    ("empty object", "{}", "MISSING_FIELD"),
    ("missing field", json.dumps({key: GOOD[key] for key in GOOD if key != "reason_code"}), "MISSING_FIELD"),
    ("thoughts", proposal_text(reasoning="The finding says so."), "EXTRA_FIELD"),
    ("confidence", proposal_text(confidence=0.93), "EXTRA_FIELD"),
    ("wrapped", json.dumps({"proposal": GOOD}), "EXTRA_FIELD"),
    ("action in capitals", proposal_text(recommended_action="ISSUE_REFUND"), "WRONG_ENUM"),
    ("action with a blank", proposal_text(recommended_action=" issue refund "), "WRONG_ENUM"),
    ("reason in other words", proposal_text(reason_code="duplicate_charge"), "WRONG_ENUM"),
    ("long message", proposal_text(customer_message="I looked at it. " * 40), "MESSAGE_TOO_LONG"),
    ("empty message", proposal_text(customer_message=""), "EMPTY_MESSAGE"),
    ("blank message", proposal_text(customer_message=" \n"), "EMPTY_MESSAGE"),
]


@pytest.mark.parametrize(("raw", "reason"), [row[1:] for row in FORM], ids=[row[0] for row in FORM])
def test_a_defect_of_form_may_be_repaired(raw, reason):
    assert parse_proposal(raw) == Malformed(repairable=True, reason=reason)


REJECTED = [
    ("too large", " " * MAX_PROPOSAL_BYTES + GOOD_TEXT, "TOO_LARGE"),
    ("too large in bytes only", proposal_text()[:-2] + "\u20ac" * 2800 + '"}', "TOO_LARGE"),
    ("not utf-8", GOOD_TEXT.encode("utf-16"), "NOT_UTF8"),
    ("latin-1", '{"a": "\u00e9"}'.encode("latin-1"), "NOT_UTF8"),
    ("deep lists", "[" * 4000, "TOO_DEEP"),
    ("deep objects", '{"a":' * 1000 + "1" + "}" * 1000, "TOO_DEEP"),
    ("just too deep", "[[[[[[[[[1]]]]]]]]]", "TOO_DEEP"),
    ("huge integer", GOOD_TEXT.replace("false", "9" * 5000), "HUGE_NUMBER"),
    ("huge float", GOOD_TEXT.replace("false", "1e999"), "HUGE_NUMBER"),
    ("key with two values", GOOD_TEXT[:-1] + ', "reason_code": "other"}', "CONTRADICTORY_KEYS"),
    ("two proposals", GOOD_TEXT + proposal_text(recommended_action="ask_person"), "CONTRADICTORY_OBJECTS"),
    ("unknown action", proposal_text(recommended_action="close_account"), "UNKNOWN_ACTION"),
    ("look-alike action", proposal_text(recommended_action="\u0456ssue_refund"), "UNKNOWN_ACTION"),
    ("full-width action", proposal_text(recommended_action="\uff49ssue_refund"), "UNKNOWN_ACTION"),
    ("identifier as reason", proposal_text(reason_code="ch_3Mv8"), "UNKNOWN_REASON"),
    ("commitment as reason", proposal_text(reason_code="goodwill_credit"), "UNKNOWN_REASON"),
    ("NUL", proposal_text(customer_message="a\x00b"), "UNSAFE_CHARACTERS"),
    ("raw NUL", GOOD_TEXT.replace("charge", "cha\x00rge"), "UNSAFE_CHARACTERS"),
    ("escape sequence", proposal_text(customer_message="\x1b[31mred"), "UNSAFE_CHARACTERS"),
    ("right to left override", proposal_text(customer_message="a\u202eb"), "UNSAFE_CHARACTERS"),
    ("isolate", proposal_text(customer_message="a\u2066b"), "UNSAFE_CHARACTERS"),
    ("zero width space", proposal_text(customer_message="re\u200bfunded"), "UNSAFE_CHARACTERS"),
    ("zero width joiner in a word", proposal_text(customer_message="re\u200dfunded"), "UNSAFE_CHARACTERS"),
    ("soft hyphen", proposal_text(customer_message="re\u00adfunded"), "UNSAFE_CHARACTERS"),
    ("tag characters", proposal_text(customer_message="a\U000e0041b"), "UNSAFE_CHARACTERS"),
    ("variation selectors", proposal_text(customer_message="a\U000e0101b"), "UNSAFE_CHARACTERS"),
    ("lone surrogate escape", proposal_text(customer_message="a\ud800b"), "UNSAFE_CHARACTERS"),
    ("lone surrogate", GOOD_TEXT.replace("charge", "\udfff"), "UNSAFE_CHARACTERS"),
    ("private use", proposal_text(customer_message="a\ue000b"), "UNSAFE_CHARACTERS"),
    ("line separator", proposal_text(customer_message="a\u2028b"), "UNSAFE_CHARACTERS"),
    ("noncharacter", proposal_text(customer_message="a\uffffb"), "UNSAFE_CHARACTERS"),
    ("bidi in a key", proposal_text(**{"note\u202e": "x"}), "UNSAFE_CHARACTERS"),
    ("tool call", '{"name": "refund_now", "arguments": {"order": "1"}}', "FORBIDDEN_KEY"),
    ("tool call as a tag", "<tool_call>refund_now</tool_call>", "UNSAFE_TEXT"),
    (
        "claim in broken JSON",
        GOOD_TEXT[:-5].replace("can submit it", "refunded it"),
        "UNSAFE_TEXT",
    ),
    ("claim beside the object", f"{GOOD_TEXT} You will receive $49.99.", "UNSAFE_TEXT"),
    ("claim in an extra field", proposal_text(reasoning="I refunded it."), "UNSAFE_TEXT"),
    ("escaped claim in broken JSON", GOOD_TEXT[:-5].replace("can submit", "\\u0072efunded"), "UNSAFE_TEXT"),
    ("amount in broken JSON", '{"recommended_action": "issue_refund", "amount": 4999,', "FORBIDDEN_KEY"),
    ("escaped amount in broken JSON", '{"\\u0061mount": 4999, "x"', "FORBIDDEN_KEY"),
    ("amount after the object", GOOD_TEXT + ' "amount": 4999', "FORBIDDEN_KEY"),
    ("nested amount", proposal_text(details={"amount": "all"}), "FORBIDDEN_KEY"),
    ("amount in a fence", f"```json\n{proposal_text(amount=1)}\n```", "FORBIDDEN_KEY"),
]


@pytest.mark.parametrize(("raw", "reason"), [row[1:] for row in REJECTED], ids=[row[0] for row in REJECTED])
def test_what_looks_invented_or_unsafe_is_rejected(raw, reason):
    assert parse_proposal(raw) == Malformed(repairable=False, reason=reason)


@pytest.mark.parametrize(
    "key",
    [
        *("amount", "refund_amount", "amountMinorUnits", "currency", "price", "total", "value", "cents"),
        *("customer_id", "customerId", "customerid", "user", "tenant", "merchant", "account_number", "email"),
        *("transaction_id", "payment", "charge", "order_number", "orderId", "id", "ref", "uuid", "ch_3Mv8"),
        *(
            "tool",
            "tool_calls",
            "function",
            "arguments",
            "command",
            "endpoint",
            "url",
            "approved",
            "override",
        ),
        *("discount", "credit", "voucher", "password", "token", "role", "system", "status", "state"),
        *("\u0430mount", "am\u043eunt", "\uff41mount", "customer_messag\u0435"),
    ],
)
def test_an_extra_key_for_what_only_trusted_code_states_is_rejected(key):
    assert parse_proposal(proposal_text(**{key: "x"})) == Malformed(repairable=False, reason="FORBIDDEN_KEY")


@pytest.mark.parametrize(
    "key", ["reasoning", "thought", "explanation", "notes", "confidence", "language", "summary"]
)
def test_an_extra_key_that_only_talks_may_be_repaired(key):
    assert parse_proposal(proposal_text(**{key: "x"})) == Malformed(repairable=True, reason="EXTRA_FIELD")


def test_a_refusal_to_read_keeps_nothing_of_the_text():
    canary = "canary-7731"

    assert canary not in repr(parse_proposal(f'{{"{canary}": '))
    assert canary not in repr(parse_proposal(proposal_text(customer_message=canary)))


@pytest.mark.parametrize(
    "raw",
    [
        "a" * 5_000_000,
        "[" * MAX_PROPOSAL_BYTES,
        "{" * MAX_PROPOSAL_BYTES,
        '"' * MAX_PROPOSAL_BYTES,
        "\\" * MAX_PROPOSAL_BYTES,
        "1 " * (MAX_PROPOSAL_BYTES // 2),
        "9" * MAX_PROPOSAL_BYTES,
        "a." * (MAX_PROPOSAL_BYTES // 2),
        "a@" * (MAX_PROPOSAL_BYTES // 2),
        "a " * (MAX_PROPOSAL_BYTES // 2),
        "will be " * (MAX_PROPOSAL_BYTES // 8),
        "refund a " * (MAX_PROPOSAL_BYTES // 9),
        "`" * MAX_PROPOSAL_BYTES,
        "```" + "\n " * (MAX_PROPOSAL_BYTES // 2 - 2),
        "{}" * (MAX_PROPOSAL_BYTES // 2),
        "\\u0041" * (MAX_PROPOSAL_BYTES // 6),
        "\u20ac" * (MAX_PROPOSAL_BYTES // 3),
        "\u200d" * (MAX_PROPOSAL_BYTES // 3),
    ],
    ids=lambda raw: repr(raw[:6]),
)
def test_no_text_is_slow_or_large_to_read(raw):
    tracemalloc.start()
    started = time.process_time()
    parsed = parse_proposal(raw)
    taken = time.process_time() - started
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert isinstance(parsed, Malformed)
    assert taken < 1.0
    assert peak < 20_000_000
