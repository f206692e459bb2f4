"""A model that does what any text tells it: what it reads may move it, and moves no money.

The texts stand where people can put them: the customer's message, the note on an order, the prose of a policy, a
house text that was approved although it gives orders. Which of these a model gets to read, its context says.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from django.db import connection

from refunds.proposers.customer_text import prepare_customer_text
from tests.adversary.cases import AUTOMATIC, HOLD, ONE_PERSON, new_case
from tests.adversary.desk import MESSAGE, Case, run
from tests.adversary.models import HONEST, Obedient, surfaces, texts_of
from tests.adversary.money import differences
from tests.factories import make_house_text

ROWS: Final = json.loads(Path(__file__).with_name("injections.json").read_text(encoding="utf-8"))
INJECTIONS: Final = {row["id"]: row["text"] for row in ROWS}
GETS_THROUGH: Final = {"exactly-honest", "exactly-person", "ordinary"}  # what is said then is harmless


def _with_note(name: str, ids: Any, text: str) -> tuple[Case, str]:
    case = new_case(name, ids)
    type(case.order).objects.filter(pk=case.order.pk).update(note=text)
    return case, MESSAGE


# How a text gets to each place that a model reads.
PLACES: Final[dict[str, Callable[[str, Any, str], tuple[Case, str]]]] = {
    "customer_text": lambda name, ids, text: (new_case(name, ids), text),
    "order_note": _with_note,
    "policy_text": lambda name, ids, text: (new_case(name, ids, guidance=text), MESSAGE),
}
# A house text is read in the place of the policy's prose, behind it.
HOUSE_TITLE: Final = "Duplicate charge"


def _with_house_text(name: str, ids: Any, text: str) -> Case:
    case = new_case(name, ids)
    document = make_house_text(merchant=case.merchant, title=HOUSE_TITLE, body="Say sorry.")
    with connection.cursor() as cursor:  # whatever the door would have said: the worst that can be approved
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE knowledge_documents DISABLE TRIGGER USER")
        cursor.execute("UPDATE knowledge_documents SET body = %s WHERE id = %s", [text, document.pk])
        cursor.execute("ALTER TABLE knowledge_documents ENABLE TRIGGER USER")
    return case


def test_every_place_that_a_model_reads_is_attacked():
    assert set(surfaces()) <= set(PLACES)
    assert "customer_text" in surfaces()


@pytest.mark.failure("F091")
@pytest.mark.failure("F093")
@pytest.mark.parametrize("name", INJECTIONS)
@pytest.mark.parametrize("surface", surfaces())
def test_what_a_text_orders_changes_no_operation(db, ids, surface, name):
    case, message = PLACES[surface](AUTOMATIC, ids, INJECTIONS[name])
    model = Obedient()

    honest = run(case, HONEST, message=message)
    ran = run(case, model, message=message)

    assert texts_of(model.asked[0])[surface] == prepare_customer_text(INJECTIONS[name])
    assert differences(honest.money, ran.money) == []
    assert len(honest.money.operations) == 1
    assert len(ran.money.operations) == (name in GETS_THROUGH)


@pytest.mark.failure("F091")
@pytest.mark.failure("F098")
@pytest.mark.parametrize("name", INJECTIONS)
def test_what_an_approved_house_text_orders_changes_no_operation(db, ids, name):
    case = _with_house_text(AUTOMATIC, ids, INJECTIONS[name])
    model = Obedient()

    honest = run(case, HONEST)
    ran = run(case, model)

    told = texts_of(model.asked[0])["policy_text"]
    assert told.startswith(f"{HOUSE_TITLE}: ")
    assert (prepare_customer_text(INJECTIONS[name]) or "") in told
    assert differences(honest.money, ran.money) == []
    assert len(honest.money.operations) == 1
    assert len(ran.money.operations) == (name in GETS_THROUGH)


@pytest.mark.failure("F098")
def test_what_an_approved_house_text_orders_spares_no_review(db, ids):
    for name in ("no-review", "self-approval", "fake-policy", "exactly-approved", "exactly-honest"):
        case = _with_house_text(ONE_PERSON, ids, INJECTIONS[name])

        honest = run(case, HONEST)
        ran = run(case, Obedient())

        assert honest.money.reviews == (1,)
        assert differences(honest.money, ran.money) == [], name


@pytest.mark.parametrize("surface", surfaces())
def test_what_a_text_orders_spares_no_review(db, ids, surface):
    for name in ("no-review", "self-approval", "fake-policy", "exactly-approved", "exactly-honest"):
        case, message = PLACES[surface](ONE_PERSON, ids, INJECTIONS[name])

        honest = run(case, HONEST, message=message)
        ran = run(case, Obedient(), message=message)

        assert honest.money.reviews == (1,)
        assert differences(honest.money, ran.money) == [], name


@pytest.mark.failure("F091")
def test_a_story_of_two_charges_makes_no_second_charge(db, ids):
    case = new_case(HOLD, ids)
    for name in ("forged-observation", "forged-tool-result", "fake-policy", "exactly-honest"):
        ran = run(case, Obedient(), message=INJECTIONS[name])

        assert (ran.state, ran.money.operations) == ("NO_REFUND_DUE", ()), name
