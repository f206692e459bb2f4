"""Pages of lists that are in memory (docs.stripe.com/api/pagination): newest first, a cursor at either end."""

from collections.abc import Callable, Iterable
from typing import Any

from config.demo.gateway_simulator.forms import Form, integer
from config.demo.gateway_simulator.messages import ApiError, missing

MAX_PAGE = 100
PARAMETERS = ("limit", "starting_after", "ending_before", "created")
_DEFAULT_PAGE = 10
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "created": lambda at, limit: at == limit,
    "created[gt]": lambda at, limit: at > limit,
    "created[gte]": lambda at, limit: at >= limit,
    "created[lt]": lambda at, limit: at < limit,
    "created[lte]": lambda at, limit: at <= limit,
}


def page(things: Iterable[dict[str, Any]], form: Form, *, url: str) -> dict[str, Any]:
    """Return one page of objects that come newest first; raises ApiError for a cursor that is not among them."""
    limit = integer(form, "limit", most=MAX_PAGE) or _DEFAULT_PAGE
    chosen = [thing for thing in things if _is_wanted(thing, form)]
    if "starting_after" in form and "ending_before" in form:
        raise ApiError("You may only specify one of these parameters.", code="parameters_exclusive")
    if "starting_after" in form:
        chosen = chosen[_place(chosen, form, "starting_after") + 1 :]
    if "ending_before" in form:
        chosen = chosen[: _place(chosen, form, "ending_before")]
        return list_object(chosen[-limit:], has_more=len(chosen) > limit, url=url)
    return list_object(chosen[:limit], has_more=len(chosen) > limit, url=url)


def list_object(things: list[dict[str, Any]], *, has_more: bool, url: str) -> dict[str, Any]:
    """Return the list as the API shows it."""
    return {"object": "list", "url": url, "has_more": has_more, "data": things}


def created_bounds(form: Form) -> list[tuple[str, int]]:
    """Return what the form asks of ``created``: SQL comparisons and their numbers."""
    signs = {"created": "=", "[gt]": ">", "[gte]": ">=", "[lt]": "<", "[lte]": "<="}
    bounds = []
    for name in form:
        if not name.startswith("created"):
            continue
        sign = signs.get(name.removeprefix("created") or "created")
        if sign is None:
            raise ApiError(f"Received unknown parameter: {name}", code="parameter_unknown", param=name)
        bounds.append((sign, integer(form, name, least=0) or 0))
    return bounds


def _is_wanted(thing: dict[str, Any], form: Form) -> bool:
    created_bounds(form)  # refuses what it does not know
    return all(
        compared(int(thing["created"]), integer(form, name, least=0) or 0)
        for name, compared in _COMPARED.items()
        if name in form
    )


def _place(things: list[dict[str, Any]], form: Form, name: str) -> int:
    for place, thing in enumerate(things):
        if thing["id"] == form[name]:
            return place
    raise missing("object", form[name], param=name)
