"""What an uploader says about a house text beside it: flat, bounded, strict JSON, and never a column of ours. Pure.

It is kept for whoever reads the text, and nothing is decided or found by it. A name that this desk uses for itself
(whose text it is, whether it was approved) is ignored however it is written, and told to the uploader.
"""

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from policies.document_text import DocumentRefusedError, refuse_unfit

MAX_METADATA: Final = 2000
MAX_KEYS: Final = 20
MAX_VALUE: Final = 200
FIELD: Final = "metadata"
_MAX_DIGITS: Final = 15
_SHOWN: Final = 40  # characters of an ignored name
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9 ._-]{0,39}")
# The desk's own names as they are compared: without case, form, spaces and separators. What may stand before or
# behind one makes no other name of it (``x-tenant``, ``_system.approved``, ``Approved By``). All columns are there.
RESERVED: Final = re.compile(
    "(?:x|is|has|was|the|sys|system|meta|metadata|doc|document|knowledge)*"
    "(?:account|active|activated|allowedactions|approval|approve|approved|approver|body|command|content|created|"
    "creator|customer|decided|decision|digest|event|fingerprint|granted|hash|host|id|kind|lang|language|maker|"
    "merchant|metadata|namespace|org|organisation|organization|owned|owner|permission|pk|policy|public|published|"
    "rank|rejected|request|retired|reviewed|reviewer|role|rule|scope|score|search|sha256|shop|staff|state|status|"
    "subject|superuser|system|tenancy|tenant|title|trace|trusted|updated|uploaded|uploader|user|verified|"
    "visibility|visible|voter|workspace)"
    "(?:id|key|code|name|number|kind|by|at|on|of|sequence|fingerprint|needed|sha256|version|s)*"
)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is kept, and the names that were ignored: as the uploader wrote them, where that can be shown."""

    kept: dict[str, str | int | bool | None]
    ignored: tuple[str, ...]


def check_metadata(text: str) -> Metadata:
    """Return what is kept of an uploader's JSON object; an empty text says nothing.

    Names to texts, whole numbers, true, false or null. Raises DocumentRefusedError: METADATA_TOO_LONG,
    METADATA_NOT_JSON, METADATA_NOT_AN_OBJECT, METADATA_NESTED, METADATA_NAME_TWICE, METADATA_TOO_MANY,
    METADATA_NUMBER, METADATA_NAME, METADATA_VALUE_TOO_LONG, and what ``refuse_unfit`` says of a name or value.
    """
    if not text.strip():
        return Metadata({}, ())
    if len(text) > MAX_METADATA:
        raise _refused("TOO_LONG", f"Use at most {MAX_METADATA} characters.")
    pairs = _read(text)
    if len(pairs) > MAX_KEYS:
        raise _refused("TOO_MANY", f"Use at most {MAX_KEYS} names.")
    folded = [fold(name) for name, _ in pairs]
    if len(set(folded)) < len(folded):
        raise _refused("NAME_TWICE", "A name stands there twice, or two names differ in spelling only.")
    kept, ignored = {}, []
    for name, value in pairs:
        if is_reserved(name):
            ignored.append(name if name.isprintable() and len(name) <= _SHOWN else fold(name)[:_SHOWN])
        else:
            _check_value(str(value))  # of a number too: its digits may be a card's
            kept[_checked_name(name)] = value
    return Metadata(kept, tuple(ignored))


def fold(name: str) -> str:
    """Return a name as names are compared: without case, compatibility forms, spaces, separators and marks."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(character for character in plain if character.isalnum())


def is_reserved(name: str) -> bool:
    """Say whether a name is one of the desk's own, however it is written."""
    return RESERVED.fullmatch(fold(name)) is not None


def _read(text: str) -> list[tuple[str, Any]]:
    """Return the members of one flat object, none of them guessed."""
    try:
        found = json.loads(
            text,
            object_pairs_hook=_Members,
            parse_int=_whole,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except DocumentRefusedError:
        raise
    except (ValueError, RecursionError) as error:
        raise _refused("NOT_JSON", 'Write one JSON object, such as {"source": "handbook"}.') from error
    if not isinstance(found, _Members):
        raise _refused("NOT_AN_OBJECT", 'Write one JSON object, such as {"source": "handbook"}.')
    if any(isinstance(value, list) for _, value in found):
        raise _refused("NESTED", "Give each name one text or number, no list and no object.")
    return found


class _Members(list[tuple[str, Any]]):
    """The members of one object in their order, repeated names included."""


def _whole(written: str) -> int:
    if len(written.removeprefix("-")) > _MAX_DIGITS:
        _no_number(written)
    return int(written)


def _no_number(_written: str) -> NoReturn:
    raise _refused("NUMBER", f"Use whole numbers of at most {_MAX_DIGITS} digits; write others as a text.")


def _checked_name(name: str) -> str:
    if not _KEY.fullmatch(name):
        raise _refused(
            "NAME",
            "A name begins with a letter, and holds at most 40 letters, digits, spaces, dots, - and _ in all.",
        )
    refuse_unfit(name, FIELD, "metadata")
    return name


def _check_value(written: str) -> None:
    if len(written) > MAX_VALUE:
        raise _refused("VALUE_TOO_LONG", f"Use at most {MAX_VALUE} characters for one value.")
    refuse_unfit(written, FIELD, "metadata")


def _refused(code: str, text: str) -> DocumentRefusedError:
    return DocumentRefusedError(f"METADATA_{code}", FIELD, text)
