"""Which texts are found: by the words of codes, of one merchant, in use, in one order; or none."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.document_text import MAX_PARAGRAPH
from policies.knowledge import MOST_PASSAGES, find_passages, words_of
from policies.models import KnowledgeDocument
from policies.states import DocumentState
from tests.factories import make_house_text, make_merchant

CODES = ("VERIFIED_DUPLICATE_CHARGE", "TWO_CAPTURES_OF_ONE_PURCHASE", "DUPLICATE_CHARGE")
rows = pytest.mark.django_db


@pytest.fixture
def merchant(db):
    return make_merchant()


def found(merchant, codes=CODES):
    return find_passages(merchant_id=merchant.pk, codes=codes)


def test_codes_become_words_once_and_nothing_else_does():
    assert words_of(("DUPLICATE_CHARGE", "", "DUPLICATE_CHARGE", "no code", "X & !Y", "A__B", "a")) == (
        "duplicate charge",
        "a b",
    )


@rows
def test_a_paragraph_is_found_by_every_word_of_one_code_in_it_or_its_title(merchant):
    text = make_house_text(
        merchant=merchant,
        title="Wording",
        body="Say duplicated charges, plainly.\n\nA duplicate is no mistake.\n\nWe talk about money.",
    )
    (passage,) = found(merchant)
    assert (passage.document_id, passage.content_sha256) == (text.pk, text.content_sha256)
    assert (passage.number, passage.text, passage.title) == (1, "Say duplicated charges, plainly.", "Wording")
    assert passage.as_evidence() == {
        "document": text.pk,
        "content_sha256": text.content_sha256,
        "paragraph": 1,
    }


@rows
@pytest.mark.parametrize(
    "body", ["Charge cards kindly.", "One of two purchases.", "Nothing of it.", "Ein Text über Dubletten."]
)
def test_little_likeness_is_an_information_gap(merchant, body):
    make_house_text(merchant=merchant, title="Wording", body=body)
    assert found(merchant) == ()


@rows
def test_a_text_in_another_language_is_found_by_the_code_that_it_names(merchant):
    make_house_text(
        merchant=merchant,
        title="Wortwahl",
        language="de",
        body="Bei DUPLICATE_CHARGE schreiben wir: doppelt belastet.",
    )
    assert len(found(merchant)) == 1


@rows
def test_without_codes_nothing_is_asked(merchant, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert found(merchant, codes=("", "refund me, duplicate charge")) == ()


@rows
def test_a_code_of_stop_words_finds_nothing(merchant):
    make_house_text(merchant=merchant)
    assert found(merchant, codes=("NO_OF_THE",)) == ()


@rows
@pytest.mark.parametrize("state", [state for state in DocumentState if state is not DocumentState.ACTIVE])
def test_only_a_text_in_use_is_found(merchant, state):
    make_house_text(merchant=merchant, state=state)
    assert found(merchant) == ()


@rows
@pytest.mark.failure("F098")
def test_each_merchant_finds_its_own_texts_whoever_asked_before(merchant):
    """The same process asks for one and for the other, in turn: nothing that was found for one is left for the other."""
    other = make_merchant()
    mine, theirs = make_house_text(merchant=merchant), make_house_text(merchant=other)
    for _ in range(3):
        assert [passage.document_id for passage in found(merchant)] == [mine.pk]
        assert [passage.document_id for passage in found(other)] == [theirs.pk]
    assert found(make_merchant()) == ()


@rows
def test_the_best_few_come_in_one_order_that_ids_settle(merchant):
    body = "\n\n".join(f"Duplicate charge number {number}." for number in range(1, 6))
    texts = sorted(make_house_text(merchant=merchant, title=f"Wording {n}", body=body).pk for n in "ab")
    first = found(merchant)
    assert [(passage.document_id, passage.number) for passage in first] == [
        (texts[0], number) for number in range(1, MOST_PASSAGES + 1)
    ]
    assert all(found(merchant) == first for _ in range(5))


@rows
def test_what_says_it_more_densely_comes_first(merchant):
    make_house_text(
        merchant=merchant,
        title="Long",
        body="A duplicate, seen among many other things that happen, is a charge " + "too " * 40,
    )
    short = make_house_text(merchant=merchant, title="Short", body="Duplicate charge: say sorry.")
    assert found(merchant)[0].document_id == short.pk


@rows
def test_a_search_is_one_query_of_bounded_answer_among_many_texts(merchant):
    for number in range(15):
        make_house_text(merchant=merchant, title=f"Duplicate charge {number}", body="x" * MAX_PARAGRAPH)
    with CaptureQueriesContext(connection) as seen:
        passages = found(merchant)
    assert len(seen) == 1
    assert len(passages) == MOST_PASSAGES
    assert all(len(passage.text) <= MAX_PARAGRAPH for passage in passages)


@rows
def test_the_search_column_is_the_databases_own(merchant):
    text = make_house_text(merchant=merchant, title="Charges", body="Duplicates.")
    stored = KnowledgeDocument.objects.values_list("search", flat=True).get(pk=text.pk)
    assert stored == "'charg':1 'duplic':2"
