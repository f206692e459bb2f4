"""Refunds that nobody asked the API for: seeded ones, and those that the merchant's staff make in the dashboard."""

from collections.abc import Mapping
from typing import Any

from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.charges import SeedError, get_charge
from config.demo.gateway_simulator.events import Events
from config.demo.gateway_simulator.messages import ApiError
from config.demo.gateway_simulator.refund_objects import STATUSES, book_refund, get_refund, refund_object
from config.demo.gateway_simulator.refunds import create_refund

_SEED: Mapping[str, type | tuple[type, ...]] = {
    "charge": str,
    "account": str,
    "id": str,
    "amount": int,
    "status": str,
    "reason": (str, type(None)),
    "failure_reason": (str, type(None)),
    "metadata": dict,
    "created": int,  # seconds since 1970
    "tell": bool,  # send the events of a new refund
}
_MADE_BY_STAFF = ("charge", "account", "amount", "reason", "metadata")


def seed_refunds(book: Book, events: Events, seeds: list[Any]) -> list[dict[str, Any]]:
    """Book refunds as they are told, unchecked but for their form, all or none, and return them.

    The amount is that of the charge unless it is given; a 500 whose effect shows later is such a seed (fact 4).
    """
    with book.transaction():
        return [_seed(book, events, _checked(seed, tuple(_SEED))) for seed in seeds]


def dashboard_refund(book: Book, events: Events, value: Any) -> dict[str, Any]:
    """Refund a charge as the merchant's staff would; the rules and refusals are the API's (facts 2.4).

    Its events name no request and no key (facts 2.2).
    """
    order = dict(_checked(value, _MADE_BY_STAFF))
    account, pairs = order.pop("account", ""), order.pop("metadata", {})
    form = {name: str(given) for name, given in order.items() if given is not None}
    form |= {f"metadata[{key}]": str(given) for key, given in pairs.items()}
    with book.transaction():
        made = create_refund(book, account, form)
        events.refund_created(made, account)
    return made


def dashboard_cancel(book: Book, events: Events, value: Any) -> dict[str, Any]:
    """Cancel a card refund as the merchant's staff would: soon after, and while it is on its way (facts 2.2)."""
    if (
        not isinstance(value, Mapping)
        or not isinstance(value.get("refund"), str)
        or set(value) - {"refund", "account"}
    ):
        raise SeedError("a cancellation has a refund, and an account if wanted")
    row = get_refund(book, str(value.get("account", "")), value["refund"])
    too_old = book.now() - row["created"] > book.settings.dashboard_cancel_seconds
    if row["status"] not in ("pending", "succeeded", "requires_action") or too_old:
        raise ApiError(f"Refund {row['id']} can no longer be canceled.", param="refund")
    return events.set_refund_status(row["id"], "canceled")


def _seed(book: Book, events: Events, seed: Mapping[str, Any]) -> dict[str, Any]:
    more = {name: given for name, given in seed.items() if name not in ("charge", "account", "tell")}
    account = seed.get("account", "")
    charge = get_charge(book, account, seed["charge"], param="charge")
    amount, status = more.pop("amount", charge["amount"]), more.pop("status", "succeeded")
    if status not in STATUSES:
        raise SeedError(f"status must be one of {', '.join(STATUSES)}")
    if amount <= 0:
        raise SeedError("amount must be a positive whole number")
    if "id" in more and book.row("SELECT 1 FROM refunds WHERE id = ?", more["id"]):
        raise SeedError(f"{more['id']} is already in the book")
    made = refund_object(book_refund(book, charge, amount=amount, status=status, **more))
    if seed.get("tell"):
        events.refund_created(made, account)
    return made


def _checked(value: Any, names: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or "charge" not in value:
        raise SeedError("a refund is a JSON object with a charge")
    unknown = set(value) - set(names)
    if unknown:
        raise SeedError(f"a refund has no {', '.join(sorted(map(str, unknown)))}")
    for name, given in value.items():
        if not isinstance(given, _SEED[name]) or (isinstance(given, bool) and name != "tell"):
            raise SeedError(f"{name} has the wrong type")
    return value
