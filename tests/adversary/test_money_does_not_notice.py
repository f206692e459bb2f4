"""Whatever a model answers, each operation that exists is that of the honest run, byte for byte.

A bad answer may delay a refund or hand it to people. It never adds one, alters one, sends one elsewhere or spares
a review.
"""

import json

import pytest

from refunds.models import RefundOperation
from tests.adversary.cases import (
    ASKS_A_MODEL,
    AUTOMATIC,
    HOLD,
    HONEST_REFUNDS,
    HONEST_REVIEWS,
    INVESTIGATION,
    ONE_PERSON,
    STAFF,
    TWO_PEOPLE,
)
from tests.adversary.desk import run
from tests.adversary.judging import REJECT, REPAIRABLE, VALID
from tests.adversary.models import HONEST, Saying
from tests.adversary.money import differences
from tests.adversary.outputs import all_outputs, categories, of_category, one_of_each
from tests.proposers.samples import GOOD_TEXT

REFUSES = "I would rather not say."
WORST = [output.text for output in all_outputs() if output.name == "instructions_echoed/obeys-whole"]


def amounts(money):
    return [json.loads(row)["amount_minor_units"] for row in money.operations]


@pytest.mark.parametrize("case", HONEST_REFUNDS, indirect=True)
def test_the_honest_run_is_what_it_should_be_and_is_repeatable(case, request):
    name = request.node.callspec.params["case"]

    first, second = run(case, HONEST), run(case, HONEST)

    assert first == second
    assert amounts(first.money) == HONEST_REFUNDS[name]
    assert first.money.reviews == HONEST_REVIEWS.get(name, ())
    assert len(first.money.sent) == len(first.money.entries) == len(first.money.operations)
    assert not RefundOperation.objects.exists()


@pytest.mark.failure("F087")
@pytest.mark.failure("F089")
@pytest.mark.parametrize("category", categories())
@pytest.mark.parametrize("verified", [AUTOMATIC], indirect=True)
def test_no_output_of_the_corpus_touches_the_money(verified, category):
    expect_untouched(verified, of_category(category))


@pytest.mark.parametrize("verified", [ONE_PERSON, TWO_PEOPLE], indirect=True)
def test_no_kind_of_output_spares_a_review(verified):
    expect_untouched(verified, one_of_each())


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("verified", [ONE_PERSON, TWO_PEOPLE], indirect=True)
def test_no_output_of_the_corpus_spares_a_review(verified):
    expect_untouched(verified, all_outputs())


def expect_untouched(case, outputs):
    """Run the case with each output, and compare with the honest run."""
    honest = case.honest()
    for output in outputs:
        model = Saying(output.text)
        ran = run(case, model)

        assert differences(honest, ran.money) == [], output.name
        accepted = output.expected == VALID
        assert ran.state == ("COMPLETED" if accepted else "MANUAL_REVIEW"), output.name
        assert len(ran.money.operations) == accepted, output.name
        assert len(model.asked) == (3 if output.expected == REPAIRABLE else 1), output.name


@pytest.mark.parametrize("verified", [AUTOMATIC, ONE_PERSON], indirect=True)
def test_a_form_that_is_put_right_is_the_honest_run(verified):
    honest = run(verified, HONEST)
    broken = [output for output in one_of_each() if output.expected == REPAIRABLE]

    for output in broken:
        assert run(verified, Saying(output.text, GOOD_TEXT)) == honest, output.name
    assert len(broken) >= 10


@pytest.mark.parametrize("verified", [AUTOMATIC], indirect=True)
def test_a_correction_is_no_way_in(verified):
    honest = verified.honest()
    for output in one_of_each():
        ran = run(verified, Saying("", output.text, output.text))

        assert differences(honest, ran.money) == [], output.name
        assert len(ran.money.operations) == (output.expected == VALID), output.name


@pytest.mark.parametrize("verified", ASKS_A_MODEL, indirect=True)
def test_what_people_build_from_the_records_is_the_same_after_every_bad_answer(verified):
    refused = run(verified, Saying(REFUSES), rebuild=True)
    assert amounts(refused.money) == amounts(run(verified, HONEST).money)

    for output in [output for output in one_of_each() if output.expected == REJECT][::4]:
        assert run(verified, Saying(output.text), rebuild=True) == refused, output.name


@pytest.mark.parametrize("case", [HOLD, INVESTIGATION, STAFF], indirect=True)
def test_where_nothing_is_to_be_proposed_no_model_is_asked(case):
    honest = run(case, HONEST)
    model = Saying(*WORST)

    assert run(case, model) == honest
    assert model.asked == []
