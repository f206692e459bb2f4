"""What the model makes of a customer's words: it looks for words of a few languages, and obeys none. Pure."""

import json
import re
from collections.abc import Iterable
from typing import Any

from config.demo.model_simulator.questions import documents_of

# The codes of an answer are nobody's words: "intent is order_question" asks about no order.
_CODE = re.compile(r"\w*_\w*")
_SAID_TWICE = re.compile(
    r"\b(?:wrote|written|called|asked)\b[^.?!]{0,30}?\b(?:twice|two times)\b", re.IGNORECASE
)
_TWICE = re.compile(
    r"twice|two (?:charges|times)|double|duplicate|doppelt|zweimal|deux fois|dos veces|due volte|twee keer|dubbel"
    r"|duas vezes|二重",
    re.IGNORECASE,
)
_REFUND = re.compile(
    r"refund|money back|return it|geld (?:zur|terug)|erstatte|rembours|reembols|rimbors|terugbetal",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(
    r"passwor[dt]|sign in|log ?in|my account|e-mail address|mi cuenta|contraseña|anmelden|mein konto|inloggen",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"deliver|arriv|parcel|where is|warehouse|lieferung|colis|pakket|llega|encomenda", re.IGNORECASE
)
# Four digits and more, unless they are a price, a date or what a program is called with.
_NUMBER = re.compile(
    r"#\s?([A-Za-z0-9][A-Za-z0-9/_-]{1,40})"
    r"|(?<![$€£=])(?<!=[\"'])(?<!\d[./-])\b(\d{4,8})\b(?![.,/-]\d|\s?[$€£]|\s?(?i:euros?|eur|usd|dollars?)\b)"
)
# The language of which most words are found, the first of them where two have as many.
_LANGUAGES = {
    code: re.compile(words, re.IGNORECASE)
    for code, words in {
        "de": r"\b(?:ich|bitte|wurde|nicht|der|die|das|den|und|mir|mein|ist|für|sie|wie|kam|wann|ihr|am)\b",
        "fr": r"\b(?:je|vous|deux|fois|bonjour|merci|mon|ma|pas|la|une|est|où|pour|commande)\b",
        "es": r"\b(?:dos|veces|por|favor|gracias|pedido|quiero|no|mi|me|han|el|la|desde|cuenta)\b",
        "it": r"\b(?:mi|vorrei|ordine|grazie|il|per|due|volte|è|vostro|risulta|la)\b",
        "nl": r"\b(?:ik|mijn|bestelling|wanneer|de|het|niet|zijn|met|keer|kan|wil|op)\b",
        "pt": r"\b(?:minha|encomenda|não|ainda|duas|vezes|obrigado)\b",
        "en": r"\b(?:i|the|my|please|twice|order|when|is|was|you|it|to|for|and|times|not)\b",
        "ja": r"[\u3040-\u30ff]",
    }.items()
}


def reading_of(messages: Iterable[Any]) -> str:
    """Return the reading of a customer's words as JSON text; the same words always have the same reading."""
    text = words_in(messages)
    found = {match[1] or match[2] for match in _NUMBER.finditer(text)}
    words = _CODE.sub(" ", text)
    twice = _TWICE.search(_SAID_TWICE.sub(" ", words)) is not None
    return json.dumps(
        {
            "intent": "refund_duplicate_charge" if twice else _other_intent(words),
            "problem": "duplicate_charge" if twice else "none",
            "order_hint": found.pop() if len(found) == 1 else None,
            "language": _language(words),
        }
    )


def words_in(messages: Iterable[Any]) -> str:
    """Return what the customer wrote, as the question carries it."""
    documents = documents_of(messages)
    return next((str(found["customer_text"]) for found in documents if found.get("customer_text")), "")


def _other_intent(words: str) -> str:
    intents = (
        ("refund_other_reason", _REFUND),
        ("account_question", _ACCOUNT),
        ("order_question", _ORDER),
    )
    return next((intent for intent, looked_for in intents if looked_for.search(words)), "other")


def _language(words: str) -> str:
    counts = {code: len(looked_for.findall(words)) for code, looked_for in _LANGUAGES.items()}
    likely = max(counts, key=counts.__getitem__)
    return likely if counts[likely] else "und"
