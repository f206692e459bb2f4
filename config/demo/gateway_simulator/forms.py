"""Form-encoded parameters, as v1 of the API takes them, and their validation (docs.stripe.com/api)."""

from collections import Counter
from collections.abc import Iterator
from typing import TypeGuard
from urllib.parse import parse_qsl

from config.demo.gateway_simulator.messages import ApiError

Form = dict[str, str]

_MAX_AMOUNT = 99_999_999_999
_CURRENCY_LENGTH = 3


def is_currency(value: object) -> TypeGuard[str]:
    """Tell whether a value has the form of a currency code: three letters of the alphabet, in either case."""
    return isinstance(value, str) and value.isascii() and value.isalpha() and len(value) == _CURRENCY_LENGTH


def parse_form(text: str) -> Form:
    """Return the parameters; raises ApiError for bytes that are not a form, or a name given twice.

    ``name[]``, which may come several times, becomes ``name[0]``, ``name[1]``.
    """
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict")
    except ValueError as error:
        raise ApiError("The request body could not be read as a form.") from error
    pairs = list(_numbered(pairs))
    form = dict(pairs)
    if len(form) != len(pairs):
        raise ApiError("A parameter was given more than once.")
    if any("\x00" in name + value for name, value in pairs):
        raise ApiError("Parameters must not contain null bytes.")
    return form


def _numbered(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    seen: Counter[str] = Counter()
    for name, value in pairs:
        if not name.endswith("[]"):
            yield name, value
            continue
        yield f"{name[:-2]}[{seen[name]}]", value
        seen[name] += 1


def texts(form: Form, name: str) -> list[str]:
    """Return the values of a list: ``name[0]``, ``name[1]``."""
    return [value for given, value in form.items() if given.partition("[")[0] == name]


def allow_only(form: Form, *names: str) -> None:
    """Refuse parameters that the endpoint does not have; ``metadata`` and ``expand`` are allowed anywhere."""
    for name in form:
        base = name.partition("[")[0]
        if base not in (*names, "metadata", "expand"):
            raise ApiError(f"Received unknown parameter: {name}", code="parameter_unknown", param=name)


def integer(form: Form, name: str, *, least: int = 1, most: int = _MAX_AMOUNT) -> int | None:
    """Return a whole number inside its limits, None if it is not given."""
    text = form.get(name)
    if text is None:
        return None
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 20:  # noqa: PLR2004 - beyond any amount
        raise ApiError(f"Invalid integer: {text[:50]}", code="parameter_invalid_integer", param=name)
    number = int(text)
    if number < least:
        raise ApiError(
            f"This value must be greater than or equal to {least}.",
            code="parameter_invalid_integer",
            param=name,
        )
    if number > most:
        raise ApiError(
            f"This value must be less than or equal to {most}.", code="parameter_invalid_integer", param=name
        )
    return number


def metadata(form: Form) -> dict[str, str]:
    """Return the metadata pairs; the limits are those of docs.stripe.com/metadata."""
    pairs: dict[str, str] = {}
    for name, value in form.items():
        if not name.startswith("metadata"):
            continue
        if not (name.startswith("metadata[") and name.endswith("]")):
            raise ApiError("Invalid hash", param="metadata")
        key = name[len("metadata[") : -1]
        if not 0 < len(key) <= 40 or "[" in key or "]" in key:  # noqa: PLR2004
            raise ApiError(f"Invalid metadata key: {key[:50]}", param="metadata")
        if len(value) > 500:  # noqa: PLR2004
            raise ApiError("Metadata values can have up to 500 characters.", param="metadata")
        pairs[key] = value
    if len(pairs) > 50:  # noqa: PLR2004
        raise ApiError("You can have up to 50 metadata keys.", param="metadata")
    return pairs
