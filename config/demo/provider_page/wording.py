"""How a difference reads on the page. Pure."""

from typing import Final

DIFFERENCES: Final = {
    "MISSING_AT_PROVIDER": "Here it stands or is pending; the provider has no such refund.",
    "MISSING_OURS": "The provider has it; here nothing is known of it yet.",
    "AMOUNT_DIFFERS": "The amounts differ.",
    "CURRENCY_DIFFERS": "The currencies differ.",
    "STATUS_DIFFERS": "The provider tells its status differently from what is known here.",
    "UNKNOWN_OPERATION_ID": "It names an operation that this payment does not have here.",
    "DUPLICATE_FOR_OPERATION": "More than one refund stands for one operation.",
}


def difference_text(kind: str) -> str:
    """Return the sentence for a kind; a kind without one is shown as it is."""
    return DIFFERENCES.get(kind, kind)
