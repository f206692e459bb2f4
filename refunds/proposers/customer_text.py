"""Prepare the customer's own words for a model: cleaned, masked, bounded. Pure.

Source: stage 6, "the minimum necessary, already-sanitized context".
"""

import unicodedata
from typing import Final

from refunds.proposers.characters import remove_unsafe_characters
from refunds.proposers.patterns import PERSONAL_PATTERNS, find_card_numbers
from refunds.proposers.port import MAX_CUSTOMER_TEXT

# Shorter than anything it replaces, so that masking never makes a text longer.
MASK: Final = "[\u2026]"
_READ_AT_MOST: Final = 4 * MAX_CUSTOMER_TEXT


def prepare_customer_text(text: str) -> str | None:
    """Return at most 1000 clean characters, or None when nothing is left.

    Card numbers, IBANs, e-mail addresses, phone numbers and secrets are masked, unsafe characters removed.
    Preparing a prepared text changes nothing.
    """
    text = unicodedata.normalize("NFC", remove_unsafe_characters(text[:_READ_AT_MOST]))
    text = _mask(text)[:MAX_CUSTOMER_TEXT].strip()
    # Cutting can leave a joiner or a number without its neighbours, which reads differently than before.
    return _mask(remove_unsafe_characters(text)).strip() or None


def _mask(text: str) -> str:
    for start, end in reversed(find_card_numbers(text)):
        text = text[:start] + MASK + text[end:]
    for pattern in PERSONAL_PATTERNS:
        text = pattern.sub(MASK, text)
    return text
