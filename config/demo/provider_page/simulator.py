"""The simulated provider's control side, asked for its book and told what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2
from django.conf import settings

_SECONDS: Final = 3.0

Json = dict[str, Any]


class SimulatorDownError(RuntimeError):
    """If you see this, the simulated provider does not answer; ``make demo`` says how it ended."""


class NotDoneError(RuntimeError):
    """If you see this, the simulated provider refused what it was told, by its own rules; it says why."""


@dataclass(frozen=True, slots=True)
class Book:
    """Everything that the provider has booked."""

    charges: list[Json]
    refunds: list[Json]
    clock_ahead_seconds: float


def read_book() -> Book:
    """Return the provider's book; raises SimulatorDownError."""
    return Book(
        charges=_ask("GET", "charges")["charges"],
        refunds=_ask("GET", "refunds")["refunds"],
        clock_ahead_seconds=float(_ask("GET", "clock")["ahead_seconds"]),
    )


def tell(path: str, value: Mapping[str, Any]) -> None:
    """Make the provider do something; raises SimulatorDownError or NotDoneError."""
    _ask("POST", path, value)


def _ask(method: str, path: str, value: Mapping[str, Any] | None = None) -> Json:
    if not settings.DEMO_GATEWAY_URL:
        raise SimulatorDownError("DEMO_GATEWAY_URL is not set")
    url = f"{settings.DEMO_GATEWAY_URL}/_sim/{path}"
    try:
        answer = httpx2.request(method, url, json=value, timeout=_SECONDS, trust_env=False)
        told: Json = answer.json()
    except (httpx2.HTTPError, ValueError) as error:
        raise SimulatorDownError(type(error).__name__) from error
    if answer.is_error:
        problem = told.get("error")
        raise NotDoneError(
            str(problem.get("message")) if isinstance(problem, dict) else str(answer.status_code)
        )
    return told
