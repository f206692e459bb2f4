"""What staff may upload as a house text, checked before anything is stored. Pure.

A house text is approved word for word, and its words may be given to a model: so nothing is taken out of it, as the
door does with what customers write. What may not be stored is refused with its reason, and so is every character
that a person who approves the text could not see.
"""

import re
from typing import Final

from ledger.intake import has_hidden_characters
from ledger.redaction import NAMES, find_in_words

MAX_TITLE: Final = 80
MAX_PARAGRAPH: Final = 300  # what is found and given is a paragraph: never a part of one
MAX_BODY: Final = 4000
MAX_PARAGRAPHS: Final = 40
LANGUAGES: Final = {
    "en": "English",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pt": "Portuguese",
}
PARAGRAPH_BREAK: Final = "\n\n"
_BREAK: Final = re.compile(r"\n[ \t]*\n[ \t\n]*")


class DocumentRefusedError(ValueError):
    """If you see this, an upload was refused; ``field`` names where, ``code`` is stable, ``text`` is for people."""

    def __init__(self, code: str, field: str, text: str) -> None:
        super().__init__(code)
        self.code, self.field, self.text = code, field, text


def check_title(text: str) -> str:
    """Return a title of one line. Raises DocumentRefusedError: TITLE_REQUIRED, _TOO_LONG, _NOT_READABLE, _HAS_…."""
    title = text.strip()
    _refuse_empty(title, "title")
    if len(title) > MAX_TITLE:
        raise DocumentRefusedError("TITLE_TOO_LONG", "title", f"Use at most {MAX_TITLE} characters.")
    if "\n" in title or "\t" in title or "\r" in title:
        raise DocumentRefusedError("TITLE_NOT_READABLE", "title", "Use one line.")
    refuse_unfit(title, "title", "title")
    return title


def check_body(text: str) -> str:
    """Return the text as it is stored: line feeds, and one empty line between paragraphs of at most 300 characters.

    Raises DocumentRefusedError: BODY_REQUIRED, BODY_TOO_LONG, TOO_MANY_PARAGRAPHS, PARAGRAPH_TOO_LONG, and what
    ``refuse_unfit`` says.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n").strip(" \t\n")
    _refuse_empty(plain, "body")
    if len(plain) > MAX_BODY:
        raise DocumentRefusedError("BODY_TOO_LONG", "body", f"Use at most {MAX_BODY} characters.")
    body = _BREAK.sub(PARAGRAPH_BREAK, plain)
    refuse_unfit(body, "body", "text")  # as it is stored: what far apart lines held may stand together now
    paragraphs = body.split(PARAGRAPH_BREAK)
    if len(paragraphs) > MAX_PARAGRAPHS:
        raise DocumentRefusedError("TOO_MANY_PARAGRAPHS", "body", f"Use at most {MAX_PARAGRAPHS} paragraphs.")
    for number, paragraph in enumerate(paragraphs, start=1):
        if len(paragraph) > MAX_PARAGRAPH:
            raise DocumentRefusedError(
                "PARAGRAPH_TOO_LONG",
                "body",
                f"Paragraph {number} has {len(paragraph)} characters. Use at most {MAX_PARAGRAPH}, and an empty line "
                "between paragraphs: a model is given whole paragraphs only.",
            )
    return body


def check_language(text: str) -> str:
    """Return the code of a known language. Raises DocumentRefusedError: LANGUAGE_UNKNOWN."""
    code = text.strip().lower()
    if code not in LANGUAGES:
        raise DocumentRefusedError("LANGUAGE_UNKNOWN", "language", "Choose a language.")
    return code


def paragraph_of(body: str, number: int) -> str:
    """Return the paragraph of this number, counted from 1, of a stored text."""
    return body.split(PARAGRAPH_BREAK)[number - 1]


def refuse_unfit(text: str, field: str, name: str) -> None:
    """Refuse hidden characters and personal data. Raises DocumentRefusedError: …_NOT_READABLE, …_HAS_<kind>."""
    if has_hidden_characters(text):
        raise DocumentRefusedError(
            f"{field.upper()}_NOT_READABLE",
            field,
            f"The {name} contains characters that cannot be seen. Type it again without them.",
        )
    found = find_in_words(text)
    if found:
        kind = min((span.kind for span in found), key=list(NAMES).index)
        raise DocumentRefusedError(
            f"{field.upper()}_HAS_{kind}",
            field,
            f"The {name} contains what looks like {_article(NAMES[kind])} {NAMES[kind]}. "
            "No house text needs one: leave it out. Nothing was saved.",
        )


def _refuse_empty(text: str, field: str) -> None:
    if not any(character.isalnum() for character in text):
        raise DocumentRefusedError(f"{field.upper()}_REQUIRED", field, "Write something that can be read.")


def _article(name: str) -> str:
    return "an" if name[0] in "aeio" else "a"
