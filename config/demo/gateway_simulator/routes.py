"""Every address of the API: what it is called where faults are armed, and what it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from config.demo.gateway_simulator import refunds
from config.demo.gateway_simulator.balance import balance_object, transactions
from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.charges import charge_object, get_charge
from config.demo.gateway_simulator.disputes import list_disputes, open_dispute, resolve_inquiry
from config.demo.gateway_simulator.events import Cause, Events
from config.demo.gateway_simulator.forms import Form, allow_only
from config.demo.gateway_simulator.listing import list_charge_refunds, list_refunds
from config.demo.gateway_simulator.paging import PARAMETERS, page
from config.demo.gateway_simulator.payments import (
    cancel_intent,
    capture_intent,
    create_intent,
    retrieve_intent,
    search_charges,
)
from config.demo.gateway_simulator.refund_objects import get_refund, refund_object
from config.demo.gateway_simulator.settling import Course

# A card that is disputed as soon as it has paid (docs.stripe.com/testing; facts 5).
_DISPUTED_AT_ONCE = "pm_card_createDispute"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request, ready to be executed; ``ids`` are the parts of the path that vary."""

    book: Book
    events: Events
    account: str
    form: Form
    ids: tuple[str, ...]
    cause: Cause
    course: Course | None = None


# What a change returns, and the deliveries that must leave before its answer.
Changed = tuple[dict[str, Any], list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One address; it reads, or it writes under an idempotency key. Both run inside ``book.transaction()``."""

    place: str = ""
    read: Callable[[Asked], dict[str, Any]] | None = None
    write: Callable[[Asked], Changed] | None = None


def find(method: str, path: str) -> tuple[Route, tuple[str, ...]] | None:
    """Return the route of an address with the varying parts of its path, or None."""
    parts = tuple(path.strip("/").split("/"))
    for (asked_method, pattern), route in ROUTES.items():
        wanted = pattern.split("/")
        if asked_method == method and len(wanted) == len(parts):
            pairs = list(zip(wanted, parts, strict=True))
            if all(part in ("*", given) for part, given in pairs):
                return route, tuple(given for part, given in pairs if part == "*")
    return None


def _create_refund(asked: Asked) -> Changed:
    made = refunds.create_refund(asked.book, asked.account, asked.form, course=asked.course)
    numbers = asked.events.refund_created(made, asked.account, asked.cause)
    resolve_inquiry(asked.book, asked.events, asked.account, made["charge"])
    return made, numbers


def _update_refund(asked: Asked) -> Changed:
    (identifier,) = asked.ids
    before = refund_object(get_refund(asked.book, asked.account, identifier))
    after = refunds.update_refund(asked.book, asked.account, identifier, asked.form)
    return after, asked.events.refund_changed(before, after, asked.account, asked.cause)


def _end_refund(status: str) -> Callable[[Asked], Changed]:
    def end(asked: Asked) -> Changed:
        (identifier,) = asked.ids
        refunds.require_action(asked.book, asked.account, identifier, asked.form, to=status)
        return asked.events.move_refund(identifier, status, None, asked.cause)

    return end


def _create_intent(asked: Asked) -> Changed:
    made = create_intent(asked.book, asked.account, asked.form)
    if made["payment_method"] == _DISPUTED_AT_ONCE:
        open_dispute(asked.book, asked.events, {"charge": made["latest_charge"], "account": asked.account})
    return made, []


def _on_intent(change: Callable[[Book, str, str, Form], dict[str, Any]]) -> Callable[[Asked], Changed]:
    return lambda asked: (change(asked.book, asked.account, asked.ids[0], asked.form), [])


def _charge(asked: Asked) -> dict[str, Any]:
    allow_only(asked.form)
    return charge_object(asked.book, get_charge(asked.book, asked.account, asked.ids[0], param="id"))


def _balance_transactions(asked: Asked) -> dict[str, Any]:
    allow_only(asked.form, "source", *PARAMETERS)
    found = transactions(asked.book, asked.account, asked.form.get("source"))
    return page(found, asked.form, url="/v1/balance_transactions")


def _balance(asked: Asked) -> dict[str, Any]:
    allow_only(asked.form)
    return balance_object(asked.book, asked.account)


# The first that matches counts, so a fixed last part stands before a varying one.
ROUTES: Mapping[tuple[str, str], Route] = {
    ("POST", "v1/refunds"): Route(place="create", write=_create_refund),
    ("POST", "v1/refunds/*"): Route(write=_update_refund),
    ("POST", "v1/refunds/*/cancel"): Route(write=_end_refund("canceled")),
    ("POST", "v1/test_helpers/refunds/*/expire"): Route(write=_end_refund("failed")),
    ("GET", "v1/refunds"): Route(
        place="list", read=lambda asked: list_refunds(asked.book, asked.account, asked.form)
    ),
    ("GET", "v1/refunds/*"): Route(
        place="retrieve",
        read=lambda asked: refunds.retrieve_refund(asked.book, asked.account, asked.ids[0], asked.form),
    ),
    ("GET", "v1/charges/search"): Route(
        read=lambda asked: search_charges(asked.book, asked.account, asked.form)
    ),
    ("GET", "v1/charges/*"): Route(place="charge", read=_charge),
    ("GET", "v1/charges/*/refunds"): Route(
        place="charge_refunds",
        read=lambda asked: list_charge_refunds(asked.book, asked.account, asked.form, asked.ids[0]),
    ),
    ("POST", "v1/payment_intents"): Route(write=_create_intent),
    ("GET", "v1/payment_intents/*"): Route(
        read=lambda asked: retrieve_intent(asked.book, asked.account, asked.ids[0], asked.form)
    ),
    ("POST", "v1/payment_intents/*/capture"): Route(write=_on_intent(capture_intent)),
    ("POST", "v1/payment_intents/*/cancel"): Route(write=_on_intent(cancel_intent)),
    ("GET", "v1/disputes"): Route(read=lambda asked: list_disputes(asked.book, asked.account, asked.form)),
    ("GET", "v1/events"): Route(
        place="events", read=lambda asked: asked.events.listed(asked.account, asked.form)
    ),
    ("GET", "v1/events/*"): Route(
        place="events", read=lambda asked: asked.events.one(asked.account, asked.ids[0], asked.form)
    ),
    ("GET", "v1/balance"): Route(read=_balance),
    ("GET", "v1/balance_transactions"): Route(read=_balance_transactions),
}
