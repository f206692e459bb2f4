"""Facts about idempotency keys, asked in test mode alone: some make refunds of the smallest amount. Pure."""

from http import HTTPStatus
from typing import Final

from refunds.gateways.probes.records import (
    Ask,
    Probe,
    Probing,
    Situation,
    error_of,
    fails,
    holds,
    holds_if,
    is_invalid,
    is_replay,
    no_refund,
    object_of,
    refund_of,
    smallest_refund,
)
from refunds.gateways.wire import Exchange

_MARK: Final = "metadata[gateway_check]"
_LONGEST_KEY: Final = 255
_NOBODY: Final = "ch_3GatewayCheckNobody00"
_KEYS: Final = "docs.stripe.com/api/idempotent_requests"


def _long_key_is_refused(situation: Situation) -> Probing:
    key = situation.new_key().ljust(_LONGEST_KEY + 1, "x")
    answer = yield refund_of({"charge": _NOBODY}, key)
    refused = answer.http_status == HTTPStatus.BAD_REQUEST
    return holds_if(refused and error_of(answer).get("code") != "resource_missing", answer)


def _replay_is_the_first_answer(situation: Situation) -> Probing:
    key = situation.new_key()
    first = yield refund_of(smallest_refund(situation), key)
    if first.http_status != HTTPStatus.OK:
        return no_refund(first)
    again = yield refund_of(smallest_refund(situation), key)
    same = again.http_status == HTTPStatus.OK and object_of(again) == object_of(first)
    return holds_if(same and is_replay(again) and not is_replay(first), again)


def _other_parameters_are_refused(situation: Situation) -> Probing:
    key, form = situation.new_key(), smallest_refund(situation)
    first = yield refund_of(form, key)
    if first.http_status != HTTPStatus.OK:
        return no_refund(first)
    other = yield refund_of(form | {_MARK: "other"}, key)
    return holds_if(_is_mismatch(other), other)


def _other_endpoint_is_refused(situation: Situation) -> Probing:
    key = situation.new_key()
    first = yield refund_of(smallest_refund(situation), key)
    if first.http_status != HTTPStatus.OK:
        return no_refund(first)
    path = f"/v1/refunds/{object_of(first).get('id')}"
    other = yield Ask(method="POST", path=path, form={_MARK: "other"}, idempotency_key=key)
    return holds_if(_is_mismatch(other), other)


def _invalid_request_is_not_kept(situation: Situation) -> Probing:
    key = situation.new_key()
    invalid = yield refund_of(smallest_refund(situation) | {"amount": "ten"}, key)
    if not is_invalid(invalid):
        return fails(invalid)
    valid = yield refund_of(smallest_refund(situation), key)
    if is_replay(valid) or _is_mismatch(valid):
        return fails(valid)
    return holds(valid) if valid.http_status == HTTPStatus.OK else no_refund(valid)


def _is_mismatch(answer: Exchange) -> bool:
    is_type = error_of(answer).get("type") == "idempotency_error"
    return answer.http_status == HTTPStatus.BAD_REQUEST and is_type


KEY_WRITES: Final = (
    Probe(
        name="long-key-is-refused",
        fact="a key of 256 characters is refused",
        source=_KEYS,
        run=_long_key_is_refused,
        writes=True,
    ),
    Probe(
        name="replay-is-the-first-answer",
        fact="the same request under the same key gets the first answer again, marked, and executes nothing",
        source=_KEYS,
        run=_replay_is_the_first_answer,
        needs_charge=True,
        writes=True,
        refunds=1,
    ),
    Probe(
        name="other-parameters-are-refused",
        fact="other parameters under a used key are 400 idempotency_error",
        source=_KEYS,
        run=_other_parameters_are_refused,
        needs_charge=True,
        writes=True,
        refunds=1,
    ),
    Probe(
        name="other-endpoint-is-refused",
        fact="another endpoint under a used key is 400 idempotency_error",
        source="docs.stripe.com/api/errors",
        run=_other_endpoint_is_refused,
        needs_charge=True,
        writes=True,
        refunds=1,
    ),
    Probe(
        name="invalid-request-is-not-kept",
        fact="a request that failed its validation leaves its key free",
        source="docs.stripe.com/error-low-level",
        run=_invalid_request_is_not_kept,
        needs_charge=True,
        writes=True,
        refunds=1,
    ),
)
