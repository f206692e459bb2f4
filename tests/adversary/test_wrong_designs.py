"""The comparison itself: what it must notice."""

from dataclasses import replace

import pytest

from tests.adversary.cases import new_case
from tests.adversary.desk import run
from tests.adversary.models import Saying
from tests.adversary.money import Money, differences
from tests.adversary.outputs import of_category
from tests.adversary.wrong_designs import WRONG_DESIGNS
from tests.proposers.samples import GOOD_TEXT

HONEST = Money(operations=(b"a",), commands=(b"c",), sent=(b"s",), entries=(b"e",), reviews=(1,))


@pytest.mark.parametrize("name", WRONG_DESIGNS)
def test_a_product_that_believes_the_model_is_noticed(db, ids, name):
    case_name, category, design = WRONG_DESIGNS[name]
    case = new_case(case_name, ids)
    case.verify()
    honest = case.honest()
    assert differences(honest, run(case, Saying(GOOD_TEXT)).money) == []

    with design():
        assert any(
            differences(honest, run(case, Saying(output.text)).money) for output in of_category(category)
        )


@pytest.mark.parametrize(
    "change",
    [
        {"operations": (b"b",)},
        {"operations": (b"a", b"a"), "reviews": (1, 1)},
        {"operations": (b"a", b"b"), "reviews": (1, 1)},
        {"commands": (b"d",)},
        {"sent": (b"s", b"s")},
        {"sent": (b"t",)},
        {"entries": (b"e", b"e")},
        {"reviews": (0,)},
    ],
    ids=",".join,
)
def test_every_kind_of_difference_is_one(change):
    assert len(differences(HONEST, replace(HONEST, **change))) == 1


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"reviews": (2,)},
        {"operations": (), "commands": (), "sent": (), "entries": (), "reviews": ()},
        {"operations": (), "sent": (), "entries": (), "reviews": ()},
    ],
    ids=["the same", "more people", "handed over", "waits for people"],
)
def test_delay_and_more_people_are_none(change):
    assert differences(HONEST, replace(HONEST, **change)) == []
