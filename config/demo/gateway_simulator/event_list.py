"""The list of events (docs.stripe.com/api/events; facts 3): thirty days, newest first, and behind by its setting.

What is missing here proves nothing: an event may never have been made.
"""

import json
from collections.abc import Callable
from typing import Any

from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.forms import Form, allow_only, texts
from config.demo.gateway_simulator.messages import ApiError, missing
from config.demo.gateway_simulator.paging import PARAMETERS, page

_RETENTION_SECONDS = 30 * 86_400
_MOST_TYPES = 20


def list_events(
    book: Book, account: str, form: Form, *, undelivered: Callable[[], set[str]]
) -> dict[str, Any]:
    """Return one page; ``type`` or up to 20 ``types``, and ``delivery_success=false`` for what did not arrive."""
    allow_only(form, "type", "types", "delivery_success", *PARAMETERS)
    types = texts(form, "types")
    if len(types) > _MOST_TYPES or (types and "type" in form):
        raise ApiError(f"You may give type, or up to {_MOST_TYPES} types.", param="types")
    wanted = {form["type"]} if "type" in form else set(types)
    delivered = form.get("delivery_success")
    if delivered not in (None, "true", "false"):
        raise ApiError("Invalid boolean", param="delivery_success")
    failed = undelivered() if delivered is not None else set()
    shown = [
        json.loads(row["body"])
        for row in _known(book, account)
        if (not wanted or row["type"] in wanted)
        and (delivered is None or (row["id"] in failed) is (delivered == "false"))
    ]
    return page(shown, form, url="/v1/events")


def retrieve_event(book: Book, account: str, identifier: str, form: Form) -> dict[str, Any]:
    """Return one event; raises 404 if it is unknown, too old, or not listed yet."""
    allow_only(form)
    for row in _known(book, account):
        if row["id"] == identifier:
            event: dict[str, Any] = json.loads(row["body"])
            return event
    raise missing("event", identifier, param="id")


def _known(book: Book, account: str) -> list[Row]:
    now = book.now()
    return book.rows(
        "SELECT id, type, body FROM events WHERE account = ? AND at <= ? AND at > ? ORDER BY number DESC",
        account,
        now - book.settings.lag_events_seconds,
        now - _RETENTION_SECONDS,
    )
