"""Prepare the customer's own words for a model: cleaned, masked, bounded. Pure.

Source: stage 6, "the minimum necessary, already-sanitized context". The door (``ledger.intake``) took sensitive data
out before the words were stored; words that were stored under older detectors are masked here all the same.
"""

import unicodedata
from typing import Final

from ledger.redaction import Kind, find_in_words, mask
from refunds.proposers.characters import remove_unsafe_characters
from refunds.proposers.port import MAX_CUSTOMER_TEXT
from refunds.proposers.wording import MASK

__all__ = ["MASK", "prepare_customer_text"]
_READ_AT_MOST: Final = 4 * MAX_CUSTOMER_TEXT
_MOST_PASSES: Final = 5


def prepare_customer_text(text: str) -> str | None:
    """Return at most 1000 clean characters, or None when nothing is left.

    Every kind of sensitive data is masked, unsafe characters are removed. Preparing a prepared text changes nothing.
    """
    text = unicodedata.normalize("NFC", remove_unsafe_characters(text[:_READ_AT_MOST]))
    # Cutting can leave a joiner or a number without its neighbours, which reads differently than before.
    for _ in range(_MOST_PASSES):
        before, text = text, mask(remove_unsafe_characters(text), _masked, find_in_words)
        text = text[:MAX_CUSTOMER_TEXT].strip()
        if text == before:
            break
    return text or None


def _masked(_kind: Kind) -> str:
    return MASK
