"""Names of members whose values are never shown. Pure."""

import re
from typing import Final

# Members with these names hold secrets, or what people wrote, whatever their value.
_SENSITIVE: Final = frozenset(
    {
        *("password", "password1", "password2", "passwd", "pwd", "pw", "passcode", "passphrase"),
        *("secret", "secrets", "token", "authorization", "cookie", "cookies", "credentials"),
        *("session", "sessionid", "csrftoken", "csrfmiddlewaretoken"),
        *(
            "card",
            "cvv",
            "cvc",
            "cvv2",
            "cvc2",
            "pin",
            "otp",
            "pan",
            "iban",
            "email",
            "mail",
            "phone",
            "address",
        ),
        *("message", "text", "body", "note", "notes", "description", "content", "words"),
        *("prompt", "completion", "draft"),
    }
)
_SENSITIVE_PAIRS: Final = frozenset(
    {
        *("api_key", "secret_key", "private_key", "access_key", "signing_key", "session_key"),
        *("card_number", "security_code", "set_cookie", "user_agent", "phone_number"),
    }
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_REMEMBERED: Final = 4096
_known: dict[str, bool] = {}


def is_sensitive(name: str) -> bool:
    """Say whether a member of this name is never shown: ``customer_message`` is, ``message_id`` is not."""
    known = _known.get(name)
    if known is None:
        words = [word.lower() for word in _WORDS.findall(name)]
        known = "_".join(words) in _SENSITIVE | _SENSITIVE_PAIRS or (
            bool(words) and (words[-1] in _SENSITIVE or "_".join(words[-2:]) in _SENSITIVE_PAIRS)
        )
        if len(_known) < _REMEMBERED:
            _known[name] = known
    return known
