"""Whatever a model says, reading it never raises, and what is called valid is valid."""

import json

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from refunds.proposers.characters import has_unsafe_characters
from refunds.proposers.customer_text import prepare_customer_text
from refunds.proposers.guardrails import find_unsafe_language
from refunds.proposers.port import MAX_CUSTOMER_TEXT
from refunds.proposers.schema import (
    PROPOSAL_SCHEMA,
    Malformed,
    ParsedProposal,
    ProposalReason,
    ProposedAction,
    parse_proposal,
)
from tests.proposers.samples import GOOD, GOOD_TEXT

any_character = st.characters()  # lone surrogates included
any_text = st.text(alphabet=any_character, max_size=300)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=12,
)
near_proposals = st.fixed_dictionaries(
    {},
    optional={
        "recommended_action": st.sampled_from([*ProposedAction, "delete", "ISSUE_REFUND"]) | json_values,
        "reason_code": st.sampled_from([*ProposalReason, "goodwill"]) | json_values,
        "requires_human_review": st.booleans() | json_values,
        "customer_message": any_text | json_values,
        "amount": json_values,
        "note": json_values,
    },
)


def check(raw):
    parsed = parse_proposal(raw)
    if isinstance(parsed, Malformed):
        return parsed
    document = parsed.as_document()
    Draft202012Validator(PROPOSAL_SCHEMA).validate(document)
    assert not has_unsafe_characters(parsed.customer_message)
    assert parse_proposal(json.dumps(document)) == parsed
    assert parse_proposal(json.dumps(document, ensure_ascii=False)) == parsed
    assert json.loads(raw) == document
    return parsed


@given(any_text)
def test_any_text_is_read_without_raising(raw):
    check(raw)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_raising(raw):
    check(raw)


@given(near_proposals)
def test_what_is_called_valid_satisfies_the_schema_when_read_again(document):
    check(json.dumps(document))


@given(st.text(alphabet='{}[]":,\\ \n`truefalsn0123456789eE+-.', max_size=200))
def test_any_pile_of_json_pieces_is_read_without_raising(raw):
    check(raw)


@given(st.integers(0, len(GOOD_TEXT)), any_text)
def test_text_put_into_a_proposal_never_adds_a_field(position, inserted):
    parsed = check(GOOD_TEXT[:position] + inserted + GOOD_TEXT[position:])
    if isinstance(parsed, ParsedProposal):
        assert set(parsed.as_document()) == set(GOOD)


@given(
    st.sampled_from(ProposedAction),
    st.sampled_from(ProposalReason),
    st.booleans(),
    st.text(alphabet=st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=600),
)
def test_every_proposal_that_follows_the_rules_is_valid(action, reason, review, message):
    raw = json.dumps(
        {
            "recommended_action": action,
            "reason_code": reason,
            "requires_human_review": review,
            "customer_message": message,
        }
    )

    assert check(raw) == ParsedProposal(
        recommended_action=action, reason_code=reason, requires_human_review=review, customer_message=message
    )


@given(any_text)
def test_the_guardrails_never_raise_and_repeat_themselves(text):
    assert find_unsafe_language(text) == find_unsafe_language(text)


@given(any_text | st.text(alphabet="0123456789 -@.+[]\u2026abis:=", max_size=1500))
def test_a_prepared_text_is_bounded_clean_and_stays_as_it_is(text):
    prepared = prepare_customer_text(text)
    if prepared is not None:
        assert 0 < len(prepared) <= MAX_CUSTOMER_TEXT
        assert not has_unsafe_characters(prepared)
        assert prepare_customer_text(prepared) == prepared
