"""What a model is told of a merchant's own words: the policy's guidance first, then what house texts say of the case.

All of it is data and decides nothing. It is cleaned, masked and bounded together; a paragraph that does not fit whole
is left out, since half a sentence can say the opposite.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from policies.document_text import paragraph_of
from policies.knowledge import Passage, find_passages
from policies.models import KnowledgeDocument
from refunds.evidence.policy import policy_of
from refunds.models import RefundWorkflow
from refunds.proposers.customer_text import prepare_customer_text
from refunds.proposers.port import MAX_CUSTOMER_TEXT

_BETWEEN: Final = "\n\n"


@dataclass(frozen=True, slots=True)
class HouseWords:
    """The text that may leave, and which passages stand in it."""

    text: str | None
    given: tuple[Passage, ...] = ()


def guidance_of(workflow: RefundWorkflow) -> str:
    """Return the prose of the policy version that decides, or an empty text."""
    return policy_of(workflow.policy_id).guidance if workflow.policy_id is not None else ""


def words_about(workflow: RefundWorkflow, *, search: bool) -> HouseWords:
    """Return the words for one case; without ``search`` no house text is looked for. At most one query."""
    guidance = prepare_customer_text(guidance_of(workflow))
    codes = (workflow.finding, workflow.reason_code, workflow.problem)
    found = find_passages(merchant_id=workflow.merchant_id, codes=codes) if search else ()
    return put_together(guidance or "", found)


def put_together(guidance: str, found: Iterable[Passage]) -> HouseWords:
    """Return prepared guidance and as many passages behind it as fit whole, best first."""
    text, given = guidance, []
    for passage in found:
        longer = _BETWEEN.join(filter(None, (text, prepare_customer_text(_worded(passage)))))
        if len(longer) <= MAX_CUSTOMER_TEXT:
            text = longer
            given.append(passage)
    return HouseWords(prepare_customer_text(text), tuple(given))


def given_words(documents: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the words of passages that evidence names, whatever became of their texts since; at most one query."""
    named = [(str(each["document"]), int(each["paragraph"])) for each in documents]
    texts = KnowledgeDocument.objects.in_bulk([pk for pk, _ in named]) if named else {}
    return tuple(
        f"{texts[pk].title}\n{paragraph_of(texts[pk].body, number)}" for pk, number in named if pk in texts
    )


def _worded(passage: Passage) -> str:
    return f"{passage.title}: {passage.text}"
