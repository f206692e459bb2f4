"""JSON that means one thing (RFC 7493): no duplicate keys, no NaN, valid Unicode, bounded size and depth."""

import json
import math
from typing import IO, Any, Final, NoReturn

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser

MAX_DEPTH: Final = 20


class PayloadTooLargeError(APIException):
    """If you see this, a body is longer than any request needs; nothing of it was parsed."""

    status_code = 413
    default_detail = "The request body is too large."
    default_code = "payload_too_large"


class StrictJSONParser(JSONParser):
    """Parses a JSON body that every reader would read the same way; anything else is a 400 or 413 problem."""

    def parse(self, stream: IO[Any], *_how: Any, **_else: Any) -> Any:
        """Return the parsed body; raises ParseError or PayloadTooLargeError."""
        limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body: bytes = stream.read(limit + 1)
        if len(body) > limit:
            raise PayloadTooLargeError
        return parse_strictly(body)


def parse_strictly(body: bytes) -> Any:
    """Return the value of a JSON text; raises ParseError with a stable code."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParseError("The body is not valid UTF-8.", code="invalid_encoding") from error
    if _depth(text) > MAX_DEPTH:
        raise ParseError("The JSON is nested too deeply.", code="nested_too_deeply")
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:
        raise ParseError("The body is not valid JSON.", code="invalid_json") from error
    _refuse_lone_surrogates(value)
    return value


def _depth(text: str) -> int:
    """Return how deeply brackets nest outside strings, before a parser recurses over them."""
    deepest = depth = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ParseError("An object names the same member twice.", code="duplicate_member")
    return members


def _refuse_constant(_name: str) -> NoReturn:
    raise ParseError("NaN and Infinity are not JSON.", code="not_a_number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse_constant(text)
    return number


def _refuse_lone_surrogates(value: Any) -> None:
    """Half of an escaped surrogate pair is no character: it could be neither stored nor sent back."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ParseError("A text holds half of a surrogate pair.", code="lone_surrogate") from error
