"""Facts about look-ups, asked with GET alone: safe in live mode too. Pure."""

from http import HTTPStatus
from typing import Final

from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.probes.records import (
    Ask,
    Finding,
    Outcome,
    Probe,
    Probing,
    Situation,
    error_of,
    fails,
    holds_if,
    is_replay,
    object_of,
)
from refunds.gateways.stripe_objects import read_page
from refunds.gateways.wire import Exchange

_NOBODY = "ch_3GatewayCheckNobody00"
_NO_REFUND = "re_3GatewayCheckNobody00"


def _accepts_the_key(_situation: Situation) -> Probing:
    answer = yield Ask(method="GET", path="/v1/refunds", form={"limit": "1"})
    return holds_if(_is_list(answer), answer)


def _refuses_another_key(_situation: Situation) -> Probing:
    answer = yield Ask(
        method="GET", path="/v1/refunds", form={"limit": "1"}, api_key="sk_gateway_check_wrong"
    )
    return holds_if(answer.http_status == HTTPStatus.UNAUTHORIZED, answer)


def _unknown_charge_is_an_error(_situation: Situation) -> Probing:
    answer = yield Ask(method="GET", path="/v1/refunds", form={"charge": _NOBODY})
    missing = answer.http_status in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
    return holds_if(missing and error_of(answer).get("code") == "resource_missing", answer)


def _unknown_refund_is_missing(_situation: Situation) -> Probing:
    answer = yield Ask(method="GET", path=f"/v1/refunds/{_NO_REFUND}")
    code = error_of(answer).get("code")
    return holds_if(answer.http_status == HTTPStatus.NOT_FOUND and code == "resource_missing", answer)


def _pages_join(_situation: Situation) -> Probing:
    first = yield Ask(method="GET", path="/v1/refunds", form={"limit": "1"})
    ids = _ids(first)
    if not ids:
        return Finding(Outcome.OPEN, "this account has no refund yet")
    more = object_of(first).get("has_more")
    second = yield Ask(method="GET", path="/v1/refunds", form={"limit": "1", "starting_after": ids[0]})
    follows = _is_list(second) and bool(_ids(second)) is more and ids[0] not in _ids(second)
    return holds_if(_is_list(first) and follows, second)


def _key_on_a_read_does_nothing(situation: Situation) -> Probing:
    key = situation.new_key()
    first = yield Ask(method="GET", path="/v1/refunds", form={"limit": "1"}, idempotency_key=key)
    second = yield Ask(method="GET", path="/v1/refunds", form={"limit": "2"}, idempotency_key=key)
    return holds_if(_is_list(first) and _is_list(second) and not is_replay(second), second)


def _events_name_their_key(_situation: Situation) -> Probing:
    answer = yield Ask(method="GET", path="/v1/events", form={"type": "refund.created", "limit": "1"})
    if not _is_list(answer):
        return fails(answer)
    events = object_of(answer).get("data")
    if not isinstance(events, list) or not events:
        return Finding(Outcome.OPEN, "no refund.created in the last 30 days")
    request = events[0].get("request") if isinstance(events[0], dict) else None
    return holds_if(isinstance(request, dict) and "idempotency_key" in request, answer)


def _charge_comes_alone(situation: Situation) -> Probing:
    answer = yield Ask(method="GET", path=f"/v1/charges/{situation.charge}")
    charge = object_of(answer)
    return holds_if(charge.get("object") == "charge" and charge.get("refunds") is None, answer)


def _refunds_are_understood(situation: Situation) -> Probing:
    form = {"charge": str(situation.charge), "limit": "100"}
    answer = yield Ask(method="GET", path="/v1/refunds", form=form)
    page = read_page(read_json_or_none(answer), contract=STRIPE_V1, payment_reference=str(situation.charge))
    if page is None:
        return fails(answer)
    strange = sorted({fact.provider_status for fact in page.refunds if fact.status == "UNRECOGNISED"})
    if strange:
        return Finding(Outcome.FAILS, f"statuses without a meaning here: {', '.join(strange)}")
    seen = f"{len(page.refunds)} refunds of the charge"
    return Finding(Outcome.HOLDS if page.understood else Outcome.FAILS, seen)


def read_json_or_none(answer: Exchange) -> dict[str, object] | None:
    """Return the object of a successful answer, else None."""
    return dict(object_of(answer)) if answer.http_status == HTTPStatus.OK else None


def _is_list(answer: Exchange) -> bool:
    value = object_of(answer)
    right = value.get("object") == "list" and isinstance(value.get("data"), list)
    return answer.http_status == HTTPStatus.OK and right and isinstance(value.get("has_more"), bool)


def _ids(answer: Exchange) -> list[str]:
    data = object_of(answer).get("data")
    found = [one.get("id") for one in data if isinstance(one, dict)] if isinstance(data, list) else []
    return [str(one) for one in found if one]


REACHED: Final = Probe(
    name="key-accepted",
    fact="the list of refunds can be read with this key and API version",
    source="docs.stripe.com/api/refunds/list",
    run=_accepts_the_key,
)
READS: Final = (
    Probe(
        name="wrong-key-refused",
        fact="another key is refused with 401, so a 401 never executed anything",
        source="docs.stripe.com/api/errors",
        run=_refuses_another_key,
    ),
    Probe(
        name="unknown-charge-is-an-error",
        fact="the refunds of a charge that this account does not have are an error, not an empty list",
        source="docs.stripe.com/api/refunds/list",
        run=_unknown_charge_is_an_error,
    ),
    Probe(
        name="unknown-refund-is-missing",
        fact="a refund that this account does not have is 404 resource_missing",
        source="docs.stripe.com/error-codes",
        run=_unknown_refund_is_missing,
    ),
    Probe(
        name="pages-join",
        fact="has_more is true exactly when a next page has something, and pages do not overlap",
        source="docs.stripe.com/api/pagination",
        run=_pages_join,
    ),
    Probe(
        name="key-on-a-read",
        fact="an idempotency key has no effect on a read",
        source="docs.stripe.com/api/idempotent_requests",
        run=_key_on_a_read_does_nothing,
    ),
    Probe(
        name="events-name-their-key",
        fact="events of new refunds are listed and carry the request's idempotency key",
        source="docs.stripe.com/api/events/object",
        run=_events_name_their_key,
    ),
    Probe(
        name="charge-comes-alone",
        fact="a charge does not bring its refunds along unless asked",
        source="docs.stripe.com/changelog/2022-11-15",
        run=_charge_comes_alone,
        needs_charge=True,
    ),
    Probe(
        name="refunds-are-understood",
        fact="every refund of the charge has a status, an amount and a currency that the contract knows",
        source="docs.stripe.com/api/refunds/object",
        run=_refunds_are_understood,
        needs_charge=True,
    ),
)
