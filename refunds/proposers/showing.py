"""May a draft that passed stage 7 be shown to the customer now, beside the catalogue? Pure.

Stage 7 asks whether a draft says what a model cannot know. Here it is asked again, and whether it says more than the
state of this moment: what was found, who decides, what was approved. Last, every sentence has to be of a known form
(``phrases``): no list of bad wordings is ever complete. The rules would rather drop a harmless draft: the catalogue
speaks without it.
"""

import re
from dataclasses import dataclass
from typing import Final

from refunds.proposers.guardrails import find_unsafe_language, fold_without
from refunds.proposers.phrases import is_made_of_known_forms
from refunds.proposers.schema import MAX_MESSAGE

_LONG_WORD: Final = 6  # letters: shorter ones stand in every text
_SENTENCE: Final = re.compile(r"[.!?:;\n]+")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
# How a draft may begin a sentence. Anything else there may be a name.
_OPENERS: Final = frozenset(
    _WORD.findall(
        "a about after all also an and as at based because before both but dear each for from good hello here "
        "hi how however i if in is it its let many my no nothing now of on once one only or our please since "
        "so sometimes somebody someone sorry thank thanks that the their there these they this those to two "
        "unfortunately we what when where which while with would you your"
    )
)
_CAPITAL_ANYWHERE: Final = frozenset({"I", "AI", "I'm", "I've", "I'd", "I'll"})
_DUPLICATE: Final = re.compile(
    r"\b(?:duplicat\w{1,5}|doubled?|twice|two (?:\w{1,12} ){0,2}(?:charge|payment|capture)s?|"
    r"both (?:charge|payment)s?|second (?:charge|payment)|same (?:charge|payment|amount)|more than once|"
    r"overcharg\w{1,4})\b"
)
_NO_DUPLICATE: Final = re.compile(
    r"\b(?:no|not|never|isn't|aren't|wasn't|weren't|without|one|single|legitimate|valid|correct|pending)\b.{0,40}"
    r"\b(?:duplicat\w{1,5}|charges?|payments?|twice|due)\b"
    r"|\b(?:hold|holds|authori[sz]ation|disputed?)\b"
)
_REFUND: Final = re.compile(
    r"\b(?:refund\w{0,6}|money|funds|reimburs\w{1,8}|repay\w{0,4}|pay back|back to you)\b"
)
_REQUEST: Final = re.compile(r"\brefund request\b")
_PEOPLE: Final = re.compile(
    r"\b(?:colleagues?|team|person|people|human|staff|somebody|someone|specialist|agent)\b"
)
_SOON: Final = re.compile(
    r"\b(?:soon|shortly|quickly|promptly|asap|in no time|at once|right now|straight away)\b"
)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What the rows say now. `references` are identifiers of this customer's own that a draft may repeat.

    `private_texts` are what the model was told and the customer was not: an order's note, a policy's prose, passages
    of house texts. `plain_words` are those of the case's own codes, lower case: no secret wherever else they stand.
    """

    duplicate_verified: bool
    approved: bool
    with_people: bool
    references: tuple[str, ...] = ()
    private_texts: tuple[str, ...] = ()
    plain_words: frozenset[str] = frozenset()


def reasons_to_drop(draft: str, standing: Standing) -> tuple[str, ...]:
    """Return the codes of everything in a draft that the state does not bear out; empty when it may be shown."""
    unsafe = find_unsafe_language(draft, allowed_references=standing.references)
    folded = " ".join(draft.casefold().replace("\u2019", "'").split())
    about_refund = _REFUND.search(_REQUEST.sub("", folded)) is not None
    claims = (
        ("TOO_LONG", len(draft) > MAX_MESSAGE),
        ("NO_WORDS", _WORD.search(draft) is None),
        ("FINDING_CLAIM", _DUPLICATE.search(folded) is not None and not standing.duplicate_verified),
        ("CONTRADICTS_FINDING", _NO_DUPLICATE.search(folded) is not None),
        ("REFUND_CLAIM", about_refund and not standing.approved),
        ("PEOPLE_CLAIM", _PEOPLE.search(folded) is not None and not standing.with_people),
        ("SOON", _SOON.search(folded) is not None),
        ("REPEATS_PRIVATE", _repeats_any(folded, standing)),
        ("NAME", _may_name_somebody(draft, standing.references)),
    )
    found = (*unsafe, *(code for code, holds in claims if holds))
    return found if found or _is_of_known_forms(draft, standing) else ("UNKNOWN_WORDING",)


def _is_of_known_forms(draft: str, standing: Standing) -> bool:
    return is_made_of_known_forms(
        fold_without(draft, standing.references),
        verified=standing.duplicate_verified,
        approved=standing.approved,
        with_people=standing.with_people,
    )


def _repeats_any(draft: str, standing: Standing) -> bool:
    return any(_repeats(draft, text.casefold(), standing.plain_words) for text in standing.private_texts)


def _repeats(draft: str, text: str, plain: frozenset[str]) -> bool:
    """Say whether a draft shares a long word or three words in a row with a text that is not for the customer."""
    said, known = _WORD.findall(draft), _WORD.findall(text)
    if not {word for word in said if len(word) >= _LONG_WORD and word not in plain}.isdisjoint(known):
        return True
    return not set(zip(said, said[1:], said[2:], strict=False)).isdisjoint(
        zip(known, known[1:], known[2:], strict=False)
    )


def _may_name_somebody(draft: str, references: tuple[str, ...]) -> bool:
    """Say whether a capital letter stands where plain English has none: a name, a place, a brand."""
    for reference in filter(None, references):
        draft = draft.replace(reference, "")
    for sentence in _SENTENCE.split(draft):
        for place, word in enumerate(_WORD.findall(sentence)):
            plain = word.replace("\u2019", "'")
            opener = place == 0 and plain.casefold().partition("'")[0] in _OPENERS
            if plain[0].isupper() and not opener and plain not in _CAPITAL_ANYWHERE:
                return True
    return False
