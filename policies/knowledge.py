"""Which house texts are about a case: found by the words of its codes, never by what a customer wrote.

A customer who chose the words would choose what a model is told. A passage is one whole paragraph of an active text
of the case's own merchant that holds, with its title, every word of one of the codes; nothing less similar counts.
Finding none is an ordinary answer: an information gap, which is not retried and which nothing stands in for.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.db import connection

from policies.models import SEARCH_CONFIG
from policies.states import DocumentState

MOST_PASSAGES: Final = 3
_MOST_TEXTS: Final = 10  # whose paragraphs are looked at one by one
_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
# The rank is of PostgreSQL's own formula, over the length of what was searched; ids make equal ranks one order.
_SEARCH: Final = """
    WITH wanted AS (SELECT {any_code} AS words),
    found AS (
        SELECT d.id, d.content_sha256, d.title, d.body FROM knowledge_documents d, wanted
        WHERE d.merchant_id = %s AND d.state = %s AND d.search @@ wanted.words
        ORDER BY ts_rank(d.search, wanted.words, 1) DESC, d.id LIMIT %s),
    passages AS (
        SELECT f.id, f.content_sha256, f.title, p.number, p.text,
               to_tsvector(%s::regconfig, f.title || ' ' || p.text) AS search
        FROM found f, unnest(string_to_array(f.body, E'\\n\\n')) WITH ORDINALITY AS p (text, number))
    SELECT id, content_sha256, number, title, text FROM passages, wanted
    WHERE search @@ words ORDER BY ts_rank(search, words, 1) DESC, id, number LIMIT %s"""


@dataclass(frozen=True, slots=True)
class Passage:
    """One paragraph of one text, by which it is found again for ever: nothing of a stored text changes."""

    document_id: str
    content_sha256: str
    number: int  # of the paragraph, from 1
    title: str
    text: str

    def as_evidence(self) -> dict[str, str | int]:
        """Return what evidence keeps of it: no words."""
        return {"document": self.document_id, "content_sha256": self.content_sha256, "paragraph": self.number}


def find_passages(*, merchant_id: int, codes: Iterable[str]) -> tuple[Passage, ...]:
    """Return at most three passages about a case, best first, in one query; ``codes`` are those of the case alone."""
    words = words_of(codes)
    if not words:
        return ()
    any_code = " || ".join(["plainto_tsquery(%s::regconfig, %s)"] * len(words))
    told: list[str | int] = [part for each in words for part in (SEARCH_CONFIG, each)]
    told += [merchant_id, DocumentState.ACTIVE, _MOST_TEXTS, SEARCH_CONFIG, MOST_PASSAGES]
    with connection.cursor() as cursor:
        cursor.execute(_SEARCH.format(any_code=any_code), told)
        return tuple(Passage(*row) for row in cursor.fetchall())


def words_of(codes: Iterable[str]) -> tuple[str, ...]:
    """Return the words of each code once, ``DUPLICATE_CHARGE`` as ``duplicate charge``; others are left out."""
    known = (code for code in codes if _CODE.fullmatch(code))
    return tuple(dict.fromkeys(" ".join(filter(None, code.lower().split("_"))) for code in known))
