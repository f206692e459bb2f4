"""The validator against the whole corpus: nothing bad is accepted or repaired, nothing good refused, nothing is slow."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refunds.proposers.prompts import build_messages
from refunds.proposers.schema import Malformed, parse_proposal
from tests.adversary.judging import REJECT, REPAIRABLE, VALID, goes_on_alone, judge
from tests.adversary.measuring import CPU_SECONDS, MEMORY_BYTES
from tests.adversary.outputs import all_outputs, categories, of_category
from tests.proposers.samples import GOOD, context
from tests.proposers.samples import GOOD_TEXT as HONEST

ROOT = Path(__file__).parents[2]

OTHER_FINDINGS = ("NO_DUPLICATE_FOUND", "REQUIRES_INVESTIGATION", "SOMETHING_NEW", "")
NO_COMMAND = {"command_amount_minor_units": None, "command_currency": None}


def test_the_corpus_is_large_and_has_every_class():
    found = Counter(output.expected for output in all_outputs())

    assert set(found) == {VALID, REPAIRABLE, REJECT}
    assert len(all_outputs()) >= 300
    assert min(found.values()) >= 30
    assert len(categories()) >= 20
    assert len({output.name for output in all_outputs()}) == len({output.text for output in all_outputs()})


@pytest.mark.parametrize("category", categories())
def test_every_output_gets_its_class(category):
    wrong = {o.name: got for o in of_category(category) if (got := judge(o.text)) != o.expected}

    assert wrong == {}


@pytest.mark.failure("F086")
@pytest.mark.parametrize("category", categories())
def test_what_is_rejected_is_never_asked_for_again(category):
    rejected = [
        o
        for o in of_category(category)
        if isinstance(parsed := parse_proposal(o.text), Malformed) and not parsed.repairable
    ]

    for output in rejected:
        with pytest.raises(ValueError, match="repairable"):
            build_messages(context(), repair_of=output.text)


@pytest.mark.parametrize("finding", OTHER_FINDINGS)
def test_without_a_verified_duplicate_no_output_whatsoever_is_a_refund(finding):
    for output in all_outputs():
        assert not goes_on_alone(output.text, finding=finding), output.name
        assert not goes_on_alone(output.text, finding=finding, **NO_COMMAND), output.name


@pytest.mark.parametrize(
    "facts",
    [
        {"auto_limit_minor_units": 4998},
        {"auto_limit_minor_units": None},
        {"person_required": True},
    ],
    ids=["above the limit", "no limit for the currency", "a person is required"],
)
def test_no_output_whatsoever_spares_a_review(facts):
    for output in all_outputs():
        assert not goes_on_alone(output.text, **facts), output.name


def test_no_output_takes_a_second_or_200_mb():
    ran = subprocess.run(
        [sys.executable, "-m", "tests.adversary.measuring"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [json.loads(line) for line in ran.stdout.splitlines()]

    assert {name: got for name, got, _, _ in rows} == {o.name: o.expected for o in all_outputs()}
    assert [name for name, _, seconds, _ in rows if seconds >= CPU_SECONDS] == []
    assert [name for name, _, _, memory in rows if memory >= MEMORY_BYTES] == []


@pytest.mark.parametrize(
    "bad",
    ["'x' * len(bytearray(measuring.MEMORY_BYTES))", "[None for _ in iter(int, 1)]"],
    ids=["hungry", "endless"],
)
def test_a_validator_that_needs_too_much_would_be_noticed(bad):
    code = f"""
from tests.adversary import measuring
measuring.judge = lambda _text: {bad}
print(measuring._measured(measuring.all_outputs()[0])[0] == "")
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ran.stdout == "True\n"


CUTS = st.integers(0, len(HONEST)).flatmap(lambda at: st.tuples(st.just(at), st.integers(at, len(HONEST))))


@given(CUTS, st.text(max_size=60))
def test_a_bent_honest_answer_is_valid_only_if_it_says_what_the_schema_allows(cut, put_in):
    text = HONEST[: cut[0]] + put_in + HONEST[cut[1] :]

    if judge(text) == VALID:
        said = json.loads(text)
        assert set(said) == set(GOOD)
        assert (said["recommended_action"], said["reason_code"]) == (
            GOOD["recommended_action"],
            GOOD["reason_code"],
        )


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=12), st.integers() | st.text(max_size=12), min_size=1, max_size=3
    )
)
def test_no_further_key_is_ever_valid(more):
    extra = {name: value for name, value in more.items() if name not in GOOD}

    assert not extra or judge(json.dumps(GOOD | extra)) != VALID
