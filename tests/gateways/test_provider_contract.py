"""The Stripe contract record: amounts, windows and the operator's overrides."""

from dataclasses import FrozenInstanceError
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from config.environment import Environment
from refunds.gateways.contract import (
    STRIPE_V1,
    AmountNotRepresentableError,
    ContractOverrideError,
    with_overrides,
)
from refunds.gateways.port import ProviderStatus

SOUND = {
    "DATABASE_URL": "postgresql://desk@db/desk",
    "REDIS_URL": "redis://cache:6379/0",
    "SECRET_KEY": "x" * 50,
    "GATEWAY_TIMEOUT_SECONDS": 20,
}
SENDABLE = ["USD", "EUR", "JPY", "KWD", "BHD", "ISK", "MGA", "KRW", "RSD", "HUF"]


@pytest.mark.parametrize(
    ("currency", "ours", "theirs"),
    [
        ("USD", 1, 1),
        ("EUR", 14505, 14505),
        ("JPY", 500, 500),
        ("KRW", 1000, 1000),
        ("KWD", 5120, 5120),
        ("TND", 10, 10),
        ("ISK", 5, 500),
        ("MGA", 500, 5),
    ],
)
def test_amounts_in_both_directions(currency: str, ours: int, theirs: int) -> None:
    assert STRIPE_V1.provider_amount(amount_minor_units=ours, currency=currency) == theirs
    assert STRIPE_V1.minor_units(provider_amount=theirs, currency=currency) == ours


@pytest.mark.parametrize(
    ("currency", "ours"),
    [("KWD", 5124), ("BHD", 1), ("MGA", 550), ("UGX", 500), ("IQD", 10), ("USD", 0), ("USD", -1), ("usd", 1)],
)
def test_amounts_without_an_exact_form(currency: str, ours: int) -> None:
    with pytest.raises(AmountNotRepresentableError):
        STRIPE_V1.provider_amount(amount_minor_units=ours, currency=currency)


@pytest.mark.parametrize(("currency", "theirs"), [("ISK", 550), ("UGX", 500), ("USD", 0), ("USD", -5)])
def test_provider_amounts_that_cannot_be_read(currency: str, theirs: int) -> None:
    with pytest.raises(AmountNotRepresentableError):
        STRIPE_V1.minor_units(provider_amount=theirs, currency=currency)


@given(currency=st.sampled_from(SENDABLE), ours=st.integers(-10, 10**12))
def test_an_amount_comes_back_exactly_or_is_refused(currency: str, ours: int) -> None:
    try:
        theirs = STRIPE_V1.provider_amount(amount_minor_units=ours, currency=currency)
    except AmountNotRepresentableError:
        assert ours <= 0 or currency in {"KWD", "BHD", "MGA"}
    else:
        assert theirs > 0
        assert STRIPE_V1.minor_units(provider_amount=theirs, currency=currency) == ours


def test_windows_leave_room_for_each_other() -> None:
    assert STRIPE_V1.safe_resend_seconds < STRIPE_V1.idempotency_key_retention_seconds
    reads = sum(STRIPE_V1.reconciliation_intervals, timedelta())
    assert reads > timedelta(seconds=STRIPE_V1.in_flight_horizon_seconds)
    assert reads < timedelta(seconds=STRIPE_V1.safe_resend_seconds)
    assert len(STRIPE_V1.reconciliation_intervals) == 8


def test_statuses_are_mapped_and_the_list_is_open() -> None:
    assert {word: STRIPE_V1.status(word) for word in STRIPE_V1.statuses} == {
        "succeeded": ProviderStatus.SUCCEEDED,
        "pending": ProviderStatus.PENDING,
        "requires_action": ProviderStatus.REQUIRES_ACTION,
        "failed": ProviderStatus.FAILED,
        "canceled": ProviderStatus.CANCELED,
    }
    assert STRIPE_V1.status("of_next_year") is ProviderStatus.UNRECOGNISED
    assert STRIPE_V1.status("SUCCEEDED") is ProviderStatus.UNRECOGNISED


def test_the_record_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        STRIPE_V1.resend = STRIPE_V1.resend  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        STRIPE_V1.in_flight.horizon_seconds.value = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        STRIPE_V1.statuses["reversed"] = ProviderStatus.FAILED  # type: ignore[index]


def test_the_operator_sets_windows_in_seconds() -> None:
    contract = with_overrides(
        STRIPE_V1,
        {
            "safe_resend_seconds": 60,
            "in_flight_horizon_seconds": 0.5,
            "reconciliation_intervals": (1, 1.5, 4),
        },
    )
    assert contract.safe_resend_seconds == 60
    assert contract.in_flight_horizon_seconds == 0.5
    assert contract.reconciliation_intervals == (
        timedelta(seconds=1),
        timedelta(seconds=1.5),
        timedelta(seconds=4),
    )
    assert contract.idempotency_key_retention_seconds == 86400
    assert with_overrides(STRIPE_V1, {"safe_resend_seconds": 82800}).safe_resend_seconds == 82800
    short = {"idempotency_key_retention_seconds": 240, "safe_resend_seconds": 230}
    assert with_overrides(STRIPE_V1, short).resend_margin_seconds == 10
    stated = contract.in_flight.horizon_seconds
    assert (stated.source, stated.note) == ("operator decision", "GATEWAY_CONTRACT_OVERRIDES")
    assert with_overrides(STRIPE_V1, {}) == STRIPE_V1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"provider": 1}, "no such window: provider"),
        ({"safe_resend": 1}, "no such window: safe_resend"),
        ({"safe_resend_seconds": 86400}, "must lie inside"),
        ({"safe_resend_seconds": 86399}, "leave a margin of 3600 seconds"),
        ({"safe_resend_seconds": 82801}, "leave a margin of 3600 seconds"),
        ({"idempotency_key_retention_seconds": 3600}, "must lie inside"),
        ({"idempotency_key_retention_seconds": 240, "safe_resend_seconds": 231}, "a margin of 10 seconds"),
        ({"idempotency_key_retention_seconds": 86401}, "must not exceed what the provider promises: 86400"),
        (
            {"idempotency_key_retention_seconds": 10 * 86400, "safe_resend_seconds": 9 * 86400},
            "must not exceed what the provider promises",
        ),
        ({"review_valid_seconds": 0}, "review_valid_seconds must be positive"),
        ({"safe_resend_seconds": 0}, "must lie inside"),
        ({"safe_resend_seconds": [1]}, "one number"),
        ({"in_flight_horizon_seconds": 0}, "must be positive"),
        ({"reconciliation_intervals": 5}, "a list of numbers"),
        ({"reconciliation_intervals": []}, "must not shrink"),
        ({"reconciliation_intervals": [0, 1]}, "must not shrink"),
        ({"reconciliation_intervals": [2, 1]}, "must not shrink"),
        *(
            ({name: value}, f"{name} must be seconds, at most")
            for name in (
                "idempotency_key_retention_seconds",
                "in_flight_horizon_seconds",
                "review_valid_seconds",
            )
            for value in (float("nan"), float("inf"), 1e12)
        ),
        ({"safe_resend_seconds": float("nan")}, "safe_resend_seconds must be seconds"),
        ({"reconciliation_intervals": [1, float("inf")]}, "reconciliation_intervals must be seconds"),
    ],
)
def test_windows_that_cannot_hold_are_refused(overrides: dict[str, float], message: str) -> None:
    with pytest.raises(ContractOverrideError, match=message):
        with_overrides(STRIPE_V1, overrides)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"safe_resend": 1}, "no such window: safe_resend"),
        ({"safe_resend_seconds": 86399}, "leave a margin of 3600 seconds"),
        ({"idempotency_key_retention_seconds": 86401}, "must not exceed what the provider promises"),
        ({"in_flight_horizon_seconds": 20}, "must be longer than GATEWAY_TIMEOUT_SECONDS"),
    ],
)
def test_windows_that_cannot_hold_stop_the_start(overrides: dict[str, float], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Environment.model_validate(SOUND | {"GATEWAY_CONTRACT_OVERRIDES": overrides})


def test_windows_that_hold_are_read_from_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_CONTRACT_OVERRIDES", '{"in_flight_horizon_seconds": 21}')
    assert Environment.model_validate(SOUND).GATEWAY_CONTRACT_OVERRIDES == {"in_flight_horizon_seconds": 21}
