"""What ``expand[]`` puts in the place of an id (docs.stripe.com/api/expanding_objects)."""

from collections.abc import Callable
from typing import Any

from config.demo.gateway_simulator.balance import transactions
from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.charges import charge_object, get_charge
from config.demo.gateway_simulator.forms import Form
from config.demo.gateway_simulator.listing import list_charge_refunds
from config.demo.gateway_simulator.messages import ApiError
from config.demo.gateway_simulator.payments import intent_object

# Until this version a charge came with its refunds (docs.stripe.com/changelog/2022-11-15).
_REFUNDS_INSIDE_UNTIL = "2022-11-15"
_DEEPEST = 4

Look = Callable[[Book, str, dict[str, Any]], Any]


def with_expansions(
    book: Book, account: str, thing: dict[str, Any], form: Form, version: str | None
) -> dict[str, Any]:
    """Return the object with what was asked for, and with what an old version always shows."""
    for name, path in form.items():
        if name.partition("[")[0] == "expand":
            steps = path.split(".")
            if len(steps) > _DEEPEST:
                raise ApiError("You cannot expand more than 4 levels of a property", param="expand")
            _expand(book, account, thing, steps, path)
    old = version is not None and version[:10] < _REFUNDS_INSIDE_UNTIL
    if old and thing["object"] == "charge":
        thing["refunds"] = list_charge_refunds(book, account, {}, thing["id"])
    return thing


def _expand(book: Book, account: str, thing: Any, steps: list[str], path: str) -> None:
    step, rest = steps[0], steps[1:]
    if thing["object"] == "list" and step == "data":
        for one in thing["data"]:
            _expand(book, account, one, rest, path) if rest else None
        return
    look = _EXPANDABLE.get((thing["object"], step))
    if look is None:
        raise ApiError(f"This property cannot be expanded ({path[:100]}).", param="expand")
    if not isinstance(thing.get(step), dict):
        thing[step] = look(book, account, thing)
    if rest and thing[step] is not None:
        _expand(book, account, thing[step], rest, path)


def _charge(book: Book, account: str, thing: dict[str, Any]) -> dict[str, Any]:
    reference = thing.get("charge") or thing.get("latest_charge")
    return charge_object(book, get_charge(book, account, str(reference), param="charge"))


def _intent(book: Book, account: str, thing: dict[str, Any]) -> dict[str, Any]:
    return intent_object(get_charge(book, account, thing["payment_intent"], param="payment_intent"))


def _refunds(book: Book, account: str, thing: dict[str, Any]) -> dict[str, Any]:
    return list_charge_refunds(book, account, {}, thing["id"])


def _balance_transaction(book: Book, account: str, thing: dict[str, Any]) -> dict[str, Any] | None:
    found = transactions(book, account, thing["id"])
    return next((one for one in found if one["id"] == thing["balance_transaction"]), None)


_EXPANDABLE: dict[tuple[str, str], Look] = {
    ("refund", "charge"): _charge,
    ("refund", "payment_intent"): _intent,
    ("refund", "balance_transaction"): _balance_transaction,
    ("charge", "payment_intent"): _intent,
    ("charge", "refunds"): _refunds,
    ("payment_intent", "latest_charge"): _charge,
}
