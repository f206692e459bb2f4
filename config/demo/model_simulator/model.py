"""The model itself: two rules, one for each question that it knows. Pure.

A proposal follows the finding in the question's structured part and nothing else: what people wrote is inside JSON
strings of the question, so nothing in it can be mistaken for that. A reading looks for words of a few languages.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

_DUPLICATE = "VERIFIED_DUPLICATE_CHARGE"
_REASONS = {"NO_DUPLICATE_FOUND": "no_duplicate_found", "REQUIRES_INVESTIGATION": "requires_investigation"}
_REFUND_MESSAGE = "I checked the payment records: this is a duplicate charge, and I can submit it for refund."
_PERSON_MESSAGE = "Thank you for explaining this. A colleague should look at it, so I have asked one."
READING = "message_reading"  # the name of the form that the desk asks a reading in
_TWICE = re.compile(
    r"twice|two (?:charges|times)|double|duplicate|doppelt|zweimal|deux fois|dos veces|due volte|twee keer",
    re.IGNORECASE,
)
_REFUND = re.compile(
    r"refund|money back|return it|geld zur|rembours|reembols|rimbors|terugbetal", re.IGNORECASE
)
_ACCOUNT = re.compile(r"password|passwort|sign in|log ?in|my account|mi cuenta|anmelden", re.IGNORECASE)
_ORDER = re.compile(r"deliver|arriv|parcel|where is|warehouse|lieferung|colis|pakket", re.IGNORECASE)
_NUMBER = re.compile(r"#\s?([A-Za-z0-9][A-Za-z0-9/_-]{1,40})|\b(\d{4,8})\b(?![.,]\d)")
# The first language of which a word is found.
_LANGUAGES = {
    "de": re.compile(r"\b(?:ich|bitte|wurde|nicht|der|die|das)\b", re.IGNORECASE),
    "fr": re.compile(r"\b(?:je|vous|deux|bonjour|merci|mon)\b", re.IGNORECASE),
    "es": re.compile(r"\b(?:dos|por favor|gracias|pedido|quiero)\b", re.IGNORECASE),
    "it": re.compile(r"\b(?:mi|vorrei|ordine|grazie)\b", re.IGNORECASE),
    "nl": re.compile(r"\b(?:ik|mijn|bestelling|wanneer)\b", re.IGNORECASE),
    "en": re.compile(r"\b(?:i|the|my|please|twice|order|when)\b", re.IGNORECASE),
}


def reading_of(messages: Iterable[Any]) -> str:
    """Return the reading of a customer's words as JSON text; the same words always have the same reading."""
    documents = [document for message in messages if (document := _document(message)) is not None]
    text = next((str(found["customer_text"]) for found in documents if found.get("customer_text")), "")
    found = {match[1] or match[2] for match in _NUMBER.finditer(text)}
    twice = _TWICE.search(text) is not None
    return json.dumps(
        {
            "intent": "refund_duplicate_charge" if twice else _other_intent(text),
            "problem": "duplicate_charge" if twice else "none",
            "order_hint": found.pop() if len(found) == 1 else None,
            "language": next((code for code, words in _LANGUAGES.items() if words.search(text)), "und"),
        }
    )


def _other_intent(text: str) -> str:
    intents = (
        ("refund_other_reason", _REFUND),
        ("account_question", _ACCOUNT),
        ("order_question", _ORDER),
    )
    return next((intent for intent, words in intents if words.search(text)), "other")


def answer_to(messages: Iterable[Any]) -> str:
    """Return the proposal for a conversation as JSON text; the same question always has the same answer."""
    case = next(filter(None, map(_case, messages)), {})
    finding, allowed = case.get("finding"), case.get("allowed_actions")
    refundable = finding == _DUPLICATE and isinstance(allowed, list) and "issue_refund" in allowed
    reason = _DUPLICATE.lower() if finding == _DUPLICATE else _REASONS.get(str(finding), "other")
    return json.dumps(
        {
            "recommended_action": "issue_refund" if refundable else "ask_person",
            "reason_code": reason,
            "requires_human_review": not refundable,
            "customer_message": _REFUND_MESSAGE if refundable else _PERSON_MESSAGE,
        }
    )


def _case(message: Any) -> dict[str, Any] | None:
    """Return the structured case of one message, if that is what it is."""
    case = (_document(message) or {}).get("case")
    return case if isinstance(case, dict) else None


def _document(message: Any) -> dict[str, Any] | None:
    """Return the JSON document of one of the user's messages, if that is what it is."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return None
    try:
        document = json.loads(message.get("content", ""))
    except (TypeError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
