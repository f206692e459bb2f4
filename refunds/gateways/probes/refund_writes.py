"""Facts about refunds, asked in test mode alone: some make refunds of the smallest amount. Pure."""

from http import HTTPStatus
from typing import Final

from refunds.gateways.probes.records import (
    Ask,
    Finding,
    Outcome,
    Probe,
    Probing,
    Situation,
    data_of,
    error_of,
    fails,
    holds_if,
    is_invalid,
    is_replay,
    no_refund,
    object_of,
    refund_of,
    shown,
    smallest_refund,
)

_MARK: Final = "metadata[gateway_check]"
_BEYOND_ANY_CHARGE: Final = 99_999_999_999
_NOBODY: Final = "ch_3GatewayCheckNobody00"
_CREATE: Final = "docs.stripe.com/api/refunds/create"


def _unknown_charge_is_refused(situation: Situation) -> Probing:
    answer = yield refund_of({"charge": _NOBODY}, situation.new_key())
    code = error_of(answer).get("code")
    return holds_if(answer.http_status == HTTPStatus.NOT_FOUND and code == "resource_missing", answer)


def _payment_must_be_named(situation: Situation) -> Probing:
    answer = yield refund_of({"amount": str(situation.amount)}, situation.new_key())
    return holds_if(is_invalid(answer), answer)


def _reason_is_closed(situation: Situation) -> Probing:
    answer = yield refund_of(smallest_refund(situation) | {"reason": "other"}, situation.new_key())
    return holds_if(is_invalid(answer) and error_of(answer).get("param") == "reason", answer)


def _over_refund_is_refused(situation: Situation) -> Probing:
    form = smallest_refund(situation) | {"amount": str(_BEYOND_ANY_CHARGE)}
    answer = yield refund_of(form, situation.new_key())
    refused = is_invalid(answer) and error_of(answer).get("param") in ("amount", None)
    if not refused:
        return fails(answer)
    return Finding(Outcome.HOLDS, f"{shown(answer)} (the code is not documented)")


def _two_keys_are_two_refunds(situation: Situation) -> Probing:
    first = yield refund_of(smallest_refund(situation), situation.new_key())
    if first.http_status != HTTPStatus.OK:
        return no_refund(first)
    second = yield refund_of(smallest_refund(situation), situation.new_key())
    if second.http_status != HTTPStatus.OK and not is_replay(second):
        return no_refund(second)
    ids = {object_of(one).get("id") for one in (first, second)}
    return holds_if(second.http_status == HTTPStatus.OK and len(ids) == 2, second)  # noqa: PLR2004


def _listed_at_once(situation: Situation) -> Probing:
    key = situation.new_key()
    made = yield refund_of(smallest_refund(situation) | {_MARK: key}, key)
    if made.http_status != HTTPStatus.OK:
        return no_refund(made)
    form = {"charge": str(situation.charge), "limit": "100"}
    listed = yield Ask(method="GET", path="/v1/refunds", form=form)
    marks = [one.get("metadata", {}).get("gateway_check") for one in data_of(listed)]
    return holds_if(marks.count(key) == 1, listed)


def _event_carries_the_key(situation: Situation) -> Probing:
    """No event proves nothing, so a missing one is only seen."""
    key = situation.new_key()
    made = yield refund_of(smallest_refund(situation), key)
    if made.http_status != HTTPStatus.OK:
        return no_refund(made)
    form = {"type": "refund.created", "limit": "100"}
    listed = yield Ask(method="GET", path="/v1/events", form=form)
    keys = [(one.get("request") or {}).get("idempotency_key") for one in data_of(listed)]
    return Finding(Outcome.SEEN, "listed at once" if key in keys else "not listed yet")


REFUND_WRITES: Final = (
    Probe(
        name="unknown-charge-is-refused",
        fact="a refund of a charge that this account does not have is 404 resource_missing",
        source="docs.stripe.com/error-codes",
        run=_unknown_charge_is_refused,
        writes=True,
    ),
    Probe(
        name="payment-must-be-named",
        fact="a refund of no payment is refused as an invalid request",
        source=_CREATE,
        run=_payment_must_be_named,
        writes=True,
    ),
    Probe(
        name="reason-is-closed",
        fact="a reason that is none of the three is refused, and names its parameter",
        source=_CREATE,
        run=_reason_is_closed,
        needs_charge=True,
        writes=True,
    ),
    Probe(
        name="over-refund-is-refused",
        fact="more than is left is refused as an invalid request",
        source=_CREATE,
        run=_over_refund_is_refused,
        needs_charge=True,
        writes=True,
    ),
    Probe(
        name="two-keys-are-two-refunds",
        fact="equal partial refunds under two keys are two refunds",
        source="docs.stripe.com/refunds",
        run=_two_keys_are_two_refunds,
        needs_charge=True,
        writes=True,
        refunds=2,
    ),
    Probe(
        name="listed-at-once",
        fact="a refund is in the list of its charge, once and with its metadata, as soon as it is answered",
        source="docs.stripe.com/api-v2-overview",
        run=_listed_at_once,
        needs_charge=True,
        writes=True,
        refunds=1,
    ),
    Probe(
        name="event-carries-the-key",
        fact="the event of a refund carries the key of its request",
        source="docs.stripe.com/api/events/object",
        run=_event_carries_the_key,
        needs_charge=True,
        writes=True,
        refunds=1,
    ),
)
