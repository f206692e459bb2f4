"""What the provider leaves open: one setting for each, so that a client can be run under all of them.

A fact tagged [U] (looked for and not documented) must be nobody's assumption. ``choices`` are the settings under
which the suites run; a number may be set to any other as well. The documented numbers at the end can be changed too,
for a provider that prunes later or answers slower than it has to.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

Setting = str | int | float | bool | None

_DAY = 86_400
_LONGEST_TEXT = 100
_LARGEST = 10 * 365 * _DAY


class SettingError(ValueError):
    """A setting that cannot be made; the message is for the one who makes it."""


def _open(choices: tuple[Setting, ...], page: str, meaning: str) -> Any:
    """Return a field that has the first of its choices until it is set; ``page`` is where it was looked for."""
    return field(default=choices[0], metadata={"choices": choices, "page": page, "meaning": meaning})


@dataclass(frozen=True, slots=True, kw_only=True)
class Undocumented:
    """Each field is one open fact; its page says where it was looked for."""

    # What is compared when a key comes again (facts 1.1, last paragraph; 1.6; 13).
    key_scope: str = _open(
        ("account", "platform"), "docs.stripe.com/connect/authentication", "connected-account key scope"
    )
    match_expand: bool = _open(
        (True, False), "docs.stripe.com/api/idempotent_requests", "whether expand[] is compared"
    )
    match_order: bool = _open(
        (False, True),
        "docs.stripe.com/api/idempotent_requests",
        "whether the order of parameters is compared",
    )
    match_version: bool = _open(
        (False, True), "docs.stripe.com/api/idempotent_requests", "whether Stripe-Version is compared"
    )
    match_secret: bool = _open(
        (False, True), "docs.stripe.com/api/idempotent_requests", "whether the API secret is compared"
    )
    # Answers to requests that did not end well (facts 1.3, 1.4; 13).
    in_use_type: str = _open(
        ("invalid_request_error", "idempotency_error", "api_error"),
        "docs.stripe.com/api/errors",
        "the type of a 409",
    )
    keeps_gateway_errors: bool = _open(
        (False, True), "docs.stripe.com/error-low-level", "whether 502, 503 and 504 are kept"
    )
    keeps_dependency_errors: bool = _open(
        (False, True), "docs.stripe.com/error-low-level", "whether a 424 is kept"
    )
    keeps_lock_timeouts: bool = _open(
        (False, True), "docs.stripe.com/rate-limits", "whether a lock_timeout is kept"
    )
    execution_seconds: float = _open(
        (0.0, 0.15), "docs.stripe.com/error-low-level", "how long a request may execute"
    )
    object_lock_seconds: float | None = _open(
        (None, 0.0), "docs.stripe.com/rate-limits", "how long a lock is waited for"
    )
    # Refusals (facts 2.4; 13).
    over_refund_code: str | None = _open(
        (None, "amount_too_large", "charge_already_refunded"),
        "docs.stripe.com/error-codes",
        "code of an over-refund",
    )
    uncaptured_code: str | None = _open(
        (None, "charge_not_refundable", "payment_intent_unexpected_state"),
        "docs.stripe.com/refunds",
        "code of an uncaptured payment",
    )
    uncaptured_param: str | None = _open(
        ("asked", "payment_intent", None), "docs.stripe.com/refunds", "parameter of an uncaptured payment"
    )
    disputed_code: str = _open(
        ("charge_disputed", "refund_disputed_payment"),
        "docs.stripe.com/error-codes",
        "which of the two codes a disputed charge gets",
    )
    refund_age_limit_seconds: float | None = _open(
        (None, 180 * _DAY), "docs.stripe.com/refunds", "how old a card payment may be"
    )
    dispute_after_full_refund: bool = _open(
        (True, False),
        "docs.stripe.com/disputes/how-disputes-work",
        "whether a refunded charge can be disputed (drift of the docs)",
    )
    ugx_decimals: int = _open((0, 2), "docs.stripe.com/currencies", "UGX, contradictory in the docs")
    # What becomes of refunds (facts 2.2, 2.5; 13).
    pending_expires_seconds: float | None = _open(
        (7 * _DAY, None), "docs.stripe.com/refunds", "how long a refund waits for a balance"
    )
    pending_has_balance_transaction: bool = _open(
        (True, False),
        "docs.stripe.com/reports/balance-transaction-types",
        "whether a pending refund has a balance transaction",
    )
    failed_gives_back: bool = _open(
        (True, False),
        "docs.stripe.com/refunds",
        "whether a failed refund lowers charge.amount_refunded again",
    )
    other_method_without_balance: str = _open(
        ("failed", "error"), "docs.stripe.com/refunds", "a refund without card and without balance"
    )
    # Documented as possible, without a number (facts 3, section 3; ST-V2, ST-SEARCH).
    lag_charge_refunds_seconds: float = _open(
        (0.0, 3600.0), "docs.stripe.com/api-v2-overview", "how far the sub-list is behind"
    )
    lag_events_seconds: float = _open(
        (0.0, 3600.0), "docs.stripe.com/api/events", "how far the list of events is behind"
    )
    lag_search_seconds: float = _open((0.0, 3600.0), "docs.stripe.com/search", "how far search is behind")
    prune_delay_seconds: float = _open(
        (0.0, 48 * 3600.0),
        "docs.stripe.com/api/idempotent_requests",
        "how long a key stands after its 24 hours (a floor, not a term)",
    )
    # Documented; other numbers are for tests of what rests on them. The list is strong: a lag breaks a promise.
    lag_list_seconds: float = _open(
        (0.0,), "docs.stripe.com/api-v2-overview", "top-level lists are immediately consistent"
    )
    key_retention_seconds: float = _open(
        (float(_DAY),), "docs.stripe.com/api/idempotent_requests", "at least 24 hours"
    )
    action_expires_seconds: float = _open(
        (45.0 * _DAY,), "docs.stripe.com/payments/customer-balance/refunding", "45 days to give bank details"
    )
    dashboard_cancel_seconds: float = _open((1800.0,), "docs.stripe.com/refunds", "30 minutes in a sandbox")
    requests_per_second: int | None = _open(
        (None,), "docs.stripe.com/rate-limits", "25 in a sandbox; null for no limiter"
    )

    def changed(self, value: Any) -> "Undocumented":
        """Return it with some settings changed, from JSON; raises SettingError for anything it does not know."""
        if not isinstance(value, Mapping):
            raise SettingError("settings are a JSON object")
        known = {one.name: one for one in fields(self)}
        for name, given in value.items():
            if name not in known:
                raise SettingError(f"there is no setting {str(name)[:50]!r}")
            _check(name, given, known[name].metadata["choices"])
        return replace(self, **value)

    def as_json(self) -> dict[str, Any]:
        """Return every setting with its value."""
        return asdict(self)


def every_choice() -> list[tuple[str, Setting]]:
    """Return each setting with each value that the suites try, the default among them."""
    return [(one.name, choice) for one in fields(Undocumented) for choice in one.metadata["choices"]]


def described() -> list[dict[str, Any]]:
    """Return what there is to set: name, default, choices, page and meaning of each."""
    return [{"name": one.name, "default": one.default, **one.metadata} for one in fields(Undocumented)]


def _check(name: str, given: Any, choices: tuple[Setting, ...]) -> None:
    """Numbers may be any that are not negative, codes any short text, the rest one of the choices."""
    if any(given == choice and type(given) is type(choice) for choice in choices):
        return
    if name.endswith(("_seconds", "_per_second")):
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        if is_number and 0 <= given <= _LARGEST:
            return
        raise SettingError(f"{name} must be a number from 0 to {_LARGEST}{' or null' * (None in choices)}")
    if name.endswith("_code") and isinstance(given, str) and 0 < len(given) <= _LONGEST_TEXT:
        return
    raise SettingError(f"{name} must be one of {', '.join(map(repr, choices))}")
