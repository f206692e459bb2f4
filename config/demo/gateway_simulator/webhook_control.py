"""The control side of webhooks, under /_sim/webhooks: endpoints, knobs, what was sent, what is held."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from config.demo.gateway_simulator.book import Row
from config.demo.gateway_simulator.endpoints import EndpointError, Endpoints, read_endpoint
from config.demo.gateway_simulator.events import ids_of
from config.demo.gateway_simulator.messages import Answer, ApiError, json_answer
from config.demo.gateway_simulator.outbox import Event, Outbox

_RELEASE = {"events", "type", "charge", "newest_first"}
_EVENT = {"type", "object", "account", "previous_attributes"}


class WebhookControl:
    """Answers what comes after /_sim/webhooks; raises EndpointError, KnobError or ApiError for mistakes."""

    def __init__(self, *, endpoints: Endpoints, outbox: Outbox) -> None:
        self._endpoints = endpoints
        self._outbox = outbox

    def answer(self, method: str, parts: list[str], value: Any, query: Mapping[str, str]) -> Answer:
        """Return the answer to one control request."""
        told: Any
        match method, parts:
            case "GET", []:
                told = self._everything(query.get("state"))
            case "POST", ["endpoints"]:
                endpoint = read_endpoint(value)
                self._endpoints.add(endpoint)
                told = {"url": endpoint.url, "secrets": len(endpoint.secrets)}
            case "POST", ["roll"]:
                rolled = self._endpoints.roll(value, now=self._outbox.now())
                told = {"url": rolled.url, "secrets": len(rolled.active_secrets(self._outbox.now()))}
            case "DELETE", ["endpoints"]:
                self._endpoints.clear()
                told = {"endpoints": []}
            case "POST", ["settings"]:
                told = asdict(self._endpoints.set_patience(value))
            case "POST", ["knobs"]:
                told = asdict(self._outbox.knobs.arm(value))
            case "DELETE", ["knobs"]:
                self._outbox.knobs.clear()
                told = {"knobs": []}
            case "POST", ["release"]:
                told = {"released": self._release(value or {})}
            case "POST", ["resend"]:
                told = {"resent": self._resend(value)}
            case _:
                raise ApiError("There is no such control endpoint.", status=404)
        return json_answer(told)

    def reset(self) -> None:
        """Return to the state of the start; the book is emptied by whoever calls."""
        self._endpoints.reset()
        self._outbox.knobs.clear()

    def _everything(self, state: str | None) -> dict[str, Any]:
        return {
            "endpoints": [
                {
                    "url": one.url,
                    "api_version": one.api_version,
                    "types": one.types,
                    "secrets": len(one.active_secrets(self._outbox.now())),
                }
                for one in self._endpoints.all()
            ],
            "settings": asdict(self._endpoints.patience),
            "knobs": self._outbox.knobs.as_json(),
            "deliveries": [
                {**row, "body": json.loads(row["body"])} for row in self._outbox.deliveries(state=state)
            ],
        }

    def _release(self, value: Any) -> int:
        """Release held deliveries: those of ``events`` in that order, or by type or charge, oldest first."""
        if not isinstance(value, Mapping) or set(value) - _RELEASE:
            raise EndpointError(f"a release has {', '.join(sorted(_RELEASE))}")
        held = self._outbox.deliveries(state="held")
        if value.get("events") is not None:
            wanted = list(value["events"])
            chosen = [row for event in wanted for row in held if row["event"] == event]
        else:
            chosen = [row for row in held if _matches(row, value)]
        if value.get("newest_first"):
            chosen.reverse()
        return self._outbox.release(chosen)

    def _resend(self, value: Any) -> int:
        event = value.get("event") if isinstance(value, Mapping) else None
        copies = value.get("copies", 1) if isinstance(value, Mapping) else None
        if not isinstance(event, str) or type(copies) is not int or not 0 < copies <= 100:  # noqa: PLR2004
            raise EndpointError("a resend has an event and copies from 1 to 100")
        return self._outbox.resend(event, copies)


def read_event(value: Any) -> Event:
    """Return an event from JSON: any type with any object, also such as the provider does not have yet."""
    if not isinstance(value, Mapping) or set(value) - _EVENT:
        raise EndpointError(f"an event has {', '.join(sorted(_EVENT))}")
    if not isinstance(value.get("type"), str) or not isinstance(value.get("object"), Mapping):
        raise EndpointError("an event needs a type and an object")
    return Event(
        type=value["type"],
        object=value["object"],
        account=str(value.get("account", "")),
        previous_attributes=value.get("previous_attributes"),
        about=ids_of(value["object"]),
    )


def _matches(row: Row, value: Mapping[str, Any]) -> bool:
    return value.get("type") in (None, row["type"]) and value.get("charge") in (None, *row["about"])
