"""PaymentIntents: how a charge comes to be, is captured, or never is (docs.stripe.com/api/payment_intents)."""

from collections.abc import Mapping
from typing import Any

from config.demo.gateway_simulator.balance import released_authorisation
from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.charges import captured_amount, charge_object, get_charge, write_charge
from config.demo.gateway_simulator.forms import Form, allow_only, integer, is_currency, metadata
from config.demo.gateway_simulator.messages import ApiError, new_id
from config.demo.gateway_simulator.refund_objects import book_refund, refund_object

_CREATE = ("amount", "currency", "confirm", "payment_method", "capture_method", "payment_method_types")
# docs.stripe.com/api/payment_intents/cancel
_CANCEL_REASONS = ("duplicate", "fraudulent", "requested_by_customer", "abandoned")
_DECLINED = "pm_card_chargeDeclined"  # docs.stripe.com/testing


def create_intent(book: Book, account: str, form: Form) -> dict[str, Any]:
    """Pay with a test payment method, confirmed at once; manual capture leaves an authorisation."""
    allow_only(form, *_CREATE, "automatic_payment_methods", "return_url")
    amount, currency, method = integer(form, "amount"), form.get("currency", ""), form.get("payment_method")
    capture = form.get("capture_method", "automatic")
    if amount is None or not is_currency(currency):
        name = "amount" if amount is None else "currency"
        raise ApiError(f"Missing required param: {name}.", code="parameter_missing", param=name)
    if form.get("confirm") != "true" or not method or not method.startswith("pm_card"):
        raise ApiError("Only confirmed payments with a test card are simulated.", param="payment_method")
    if capture not in ("automatic", "automatic_async", "manual"):
        raise ApiError("Invalid capture_method: must be automatic or manual", param="capture_method")
    if method == _DECLINED:  # docs.stripe.com/api/errors: the parameters were valid, but the request failed
        raise ApiError(
            "Your card was declined.",
            status=402,
            error_type="card_error",
            code="card_declined",
            executed=True,
        )
    charge = write_charge(
        book,
        {
            "account": account,
            "id": new_id("ch_3", 23),
            "payment_intent": new_id("pi_3", 23),
            "amount": amount,
            "currency": currency.lower(),
            "captured": capture != "manual",
            "payment_method": method,
            "metadata": metadata(form),
        },
    )
    return intent_object(charge)


def capture_intent(book: Book, account: str, reference: str, form: Form) -> dict[str, Any]:
    """Capture an authorisation, all or part; what is not captured goes back to the cardholder."""
    allow_only(form, "amount_to_capture")
    charge = get_charge(book, account, reference, param="payment_intent", executed=True)
    _require_authorisation(charge, "captured")
    amount = integer(form, "amount_to_capture", most=int(charge["amount"])) or int(charge["amount"])
    _update(book, charge, captured=True, captured_amount=amount)
    if amount < charge["amount"]:
        released_authorisation(book, charge, int(charge["amount"]) - amount)
    return intent_object(get_charge(book, account, charge["id"], param="charge"))


def cancel_intent(book: Book, account: str, reference: str, form: Form) -> dict[str, Any]:
    """Let an authorisation go: what was never captured is canceled, not refunded (docs.stripe.com/refunds)."""
    allow_only(form, "cancellation_reason")
    reason = form.get("cancellation_reason")
    if reason is not None and reason not in _CANCEL_REASONS:
        raise ApiError("Invalid cancellation_reason", param="cancellation_reason")
    charge = get_charge(book, account, reference, param="payment_intent", executed=True)
    _require_authorisation(charge, "canceled")
    _update(book, charge, canceled_at=int(book.now()))
    return intent_object(get_charge(book, account, charge["id"], param="charge"))


def expire_authorisation(book: Book, account: str, reference: str) -> dict[str, Any]:
    """Let an authorisation run out: the API shows that as a refund that nobody can ask for (facts 2.4)."""
    charge = get_charge(book, account, reference, param="charge")
    _require_authorisation(charge, "expired")
    _update(book, charge, canceled_at=int(book.now()))
    row = book_refund(
        book, charge, amount=charge["amount"], status="succeeded", reason="expired_uncaptured_charge"
    )
    return refund_object(row)


def retrieve_intent(book: Book, account: str, reference: str, form: Form) -> dict[str, Any]:
    """Return one PaymentIntent; raises 404 if this account has none of that id."""
    allow_only(form)
    return intent_object(get_charge(book, account, reference, param="payment_intent"))


def intent_object(charge: Row) -> dict[str, Any]:
    """Return the PaymentIntent of a charge as the API shows it."""
    canceled, captured = charge["canceled_at"] is not None, bool(charge["captured"])
    status = "canceled" if canceled else "succeeded" if captured else "requires_capture"
    return {
        "id": charge["payment_intent"],
        "object": "payment_intent",
        "amount": charge["amount"],
        "amount_capturable": charge["amount"] if status == "requires_capture" else 0,
        "amount_received": captured_amount(charge),
        "canceled_at": charge["canceled_at"],
        "capture_method": "automatic" if captured else "manual",
        "created": charge["created"],
        "currency": charge["currency"],
        "latest_charge": charge["id"],
        "livemode": False,
        "metadata": charge["metadata"],
        "payment_method": charge["payment_method"],
        "status": status,
    }


def search_charges(book: Book, account: str, form: Form) -> dict[str, Any]:
    """Return the charges with some metadata, as far as search knows them yet (docs.stripe.com/search; facts 3).

    Only ``metadata["name"]:"value"`` is understood. There is no search of refunds at the provider.
    """
    allow_only(form, "query", "limit")
    name, _, value = form.get("query", "").partition(":")
    if not (name.startswith('metadata["') and name.endswith('"]') and value[:1] == value[-1:] == '"'):
        raise ApiError('The query must have the form metadata["name"]:"value".', param="query")
    known_since = book.now() - book.settings.lag_search_seconds
    rows = book.rows("SELECT * FROM charges WHERE account = ? ORDER BY created DESC", account)
    found = [
        charge_object(book, row)
        for row in rows
        if row["metadata"].get(name[10:-2]) == value[1:-1] and row["created"] <= known_since
    ]
    limit = integer(form, "limit", most=100) or 10
    return {
        "object": "search_result",
        "url": "/v1/charges/search",
        "has_more": len(found) > limit,
        "next_page": None,
        "data": found[:limit],
    }


def _require_authorisation(charge: Mapping[str, Any], to: str) -> None:
    if charge["captured"] or charge["canceled_at"] is not None:
        raise ApiError(
            f"This PaymentIntent could not be {to} because of its status.",
            code="payment_intent_unexpected_state",
            executed=True,
        )


def _update(book: Book, charge: Row, **changes: object) -> None:
    for name, value in changes.items():
        book.execute(
            f"UPDATE charges SET {name} = ? WHERE account = ? AND id = ?",  # noqa: S608 - literals above
            value,
            charge["account"],
            charge["id"],
        )
