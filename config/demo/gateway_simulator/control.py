"""The control side under /_sim/: seeds, truth, faults, time. JSON in and out, no authentication, loopback only."""

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from config.demo.gateway_simulator.balance import set_balance
from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.charges import SeedError, charge_object, seed_charges
from config.demo.gateway_simulator.disputes import (
    close_dispute,
    dispute_object,
    escalate_dispute,
    open_dispute,
)
from config.demo.gateway_simulator.endpoints import EndpointError
from config.demo.gateway_simulator.events import Events
from config.demo.gateway_simulator.fault_kinds import FaultError
from config.demo.gateway_simulator.faults import Faults
from config.demo.gateway_simulator.idempotency import forget_keys
from config.demo.gateway_simulator.journal import Journal
from config.demo.gateway_simulator.knobs import KnobError
from config.demo.gateway_simulator.messages import Answer, ApiError, Request, json_answer
from config.demo.gateway_simulator.payments import expire_authorisation
from config.demo.gateway_simulator.refund_objects import STATUSES, refund_object
from config.demo.gateway_simulator.refund_seeds import dashboard_cancel, dashboard_refund, seed_refunds
from config.demo.gateway_simulator.top_ups import settle_what_is_covered
from config.demo.gateway_simulator.undocumented import SettingError, Undocumented, described
from config.demo.gateway_simulator.webhook_control import WebhookControl, read_event

_LONGEST_STEP_SECONDS = 400 * 86_400


class Control:
    """What a test or the demo may do to the provider, and what it may know of it."""

    def __init__(
        self, *, book: Book, faults: Faults, journal: Journal, events: Events, webhooks: WebhookControl
    ) -> None:
        self._book = book
        self._faults = faults
        self._journal = journal
        self._events = events
        self._webhooks = webhooks

    def handle(self, request: Request) -> Answer:
        """Return the answer to one control request; mistakes are answered 400 with a sentence."""
        try:
            parts = request.path.strip("/").split("/")[1:]
            value = _json(request) if request.method == "POST" else None
            query = dict(parse_qsl(request.query))
            if parts[:1] == ["webhooks"] and parts[1:] != ["events"]:
                return self._webhooks.answer(request.method, parts[1:], value, query)
            answer = self._answer(request.method, parts, value, query)
        except (SeedError, FaultError, KnobError, EndpointError, SettingError) as error:
            return json_answer({"error": {"message": str(error)}}, status=400)
        except ApiError as error:
            return error.answer
        self._events.outbox.wake.set()  # whatever changed may have to be told
        return answer

    def _answer(self, method: str, parts: list[str], value: Any, query: dict[str, str]) -> Answer:
        told: Any
        match method, parts:
            case "GET", ["health"]:
                told = {"status": "ok", "service": "gateway_simulator", "pid": os.getpid()}
            case "POST", ["charges"]:
                seeds = _as_list(value)
                told = {"charges": len(seeds), "new": seed_charges(self._book, seeds)}
            case "GET", ["charges"]:
                told = {"charges": self._charges(query)}
            case "POST", ["charges", identifier, "expire"]:
                with self._book.transaction():
                    account = str(_as_object(value or {}).get("account", ""))
                    told = expire_authorisation(self._book, account, identifier)
            case "GET", ["refunds"]:
                told = {"refunds": self._refunds(query)}
            case "POST", ["refunds"]:
                told = {"refunds": seed_refunds(self._book, self._events, _as_list(value))}
            case "POST", ["refunds", identifier]:
                told = self._set_status(identifier, _as_object(value))
            case "GET", ["log"]:
                told = {"requests": self._journal.entries(query)}
            case _:
                return self._by_hand(method, parts, value)
        return json_answer(told)

    def _by_hand(self, method: str, parts: list[str], value: Any) -> Answer:
        """What happens at the provider without any API request."""
        told: Any
        with self._book.transaction():
            match method, parts:
                case "POST", ["dashboard", "refunds"]:
                    told = dashboard_refund(self._book, self._events, value)
                case "POST", ["dashboard", "cancellations"]:
                    told = dashboard_cancel(self._book, self._events, value)
                case "POST", ["balance"]:
                    told = set_balance(self._book, _as_object(value))
                    settle_what_is_covered(self._book, self._events, told["account"], told["currency"])
                case "GET", ["disputes"]:
                    rows = self._book.rows("SELECT * FROM disputes ORDER BY number")
                    told = {"disputes": [dispute_object(row) for row in rows]}
                case "POST", ["disputes"]:
                    told = open_dispute(self._book, self._events, _as_object(value))
                case "POST", ["disputes", identifier]:
                    status = str(_as_object(value).get("status"))
                    if status == "needs_response":
                        told = escalate_dispute(self._book, self._events, identifier)
                    else:
                        told = close_dispute(self._book, self._events, identifier, status)
                case "POST", ["webhooks", "events"]:
                    self._events.anything(read_event(value))
                    told = {"told": True}
                case "POST", ["keys", "forget"]:
                    key = _as_object(value or {}).get("idempotency_key")
                    told = {"forgotten": forget_keys(self._book, key)}
                case _:
                    return self._trouble(method, parts, value)
        return json_answer(told)

    def _world(self, method: str, parts: list[str], value: Any) -> Answer:
        """The provider's clock, and the settings of what it does not document."""
        match method, parts:
            case "POST", ["clock"]:
                self._advance(_as_object(value))
                return json_answer(self._clock())
            case "GET", ["clock"]:
                return json_answer(self._clock())
            case "GET", ["settings"]:
                return json_answer({"settings": self._book.settings.as_json(), "all": described()})
            case "POST", ["settings"]:
                self._book.set_undocumented(self._book.settings.changed(value))
                return json_answer({"settings": self._book.settings.as_json()})
            case "DELETE", ["settings"]:
                self._book.set_undocumented(Undocumented())
                return json_answer({"settings": self._book.settings.as_json()})
        raise ApiError("There is no such control endpoint.", status=404)

    def _trouble(self, method: str, parts: list[str], value: Any) -> Answer:
        match method, parts:
            case "POST", ["reset"]:
                self._faults.end()
                self._webhooks.reset()
                self._book.wipe()
                return json_answer({"reset": True})
            case "GET", ["faults"]:
                return json_answer(self._faults.as_json())
            case "POST", ["faults"]:
                return json_answer(self._faults.arm(value).as_json())
            case "DELETE", ["faults"]:
                self._faults.clear()
                return json_answer(self._faults.as_json())
            case "POST", ["release"]:
                charge = value.get("charge") if isinstance(value, Mapping) else None
                return json_answer({"released": self._faults.release(charge)})
        return self._world(method, parts, value)

    def _clock(self) -> dict[str, float]:
        return {"now": self._book.now(), "ahead_seconds": self._book.clock.ahead_seconds}

    def _advance(self, value: dict[str, Any]) -> None:
        seconds: Any = value.get("advance_seconds")
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if set(value) != {"advance_seconds"} or not is_number or not 0 <= seconds <= _LONGEST_STEP_SECONDS:
            raise SettingError(
                f"advance_seconds must be from 0 to {_LONGEST_STEP_SECONDS}: time goes forward"
            )
        self._book.advance(float(seconds))

    def _charges(self, query: dict[str, str]) -> list[dict[str, Any]]:
        """Return every charge, oldest first, over all accounts unless one is named."""
        rows = self._book.rows("SELECT * FROM charges ORDER BY created, id")
        account, charge = query.get("account"), query.get("charge")
        return [
            charge_object(self._book, row) | {"account": row["account"]}
            for row in rows
            if account in (None, row["account"]) and charge in (None, row["id"], row["payment_intent"])
        ]

    def _refunds(self, query: dict[str, str]) -> list[dict[str, Any]]:
        """Return what is booked, oldest first, over all accounts unless one is named."""
        rows = self._book.rows("SELECT * FROM refunds ORDER BY number")
        charge, account = query.get("charge"), query.get("account")
        return [
            refund_object(row) | {"account": row["account"]}
            for row in rows
            if charge in (None, row["charge"], row["payment_intent"]) and account in (None, row["account"])
        ]

    def _set_status(self, identifier: str, order: dict[str, Any]) -> dict[str, Any]:
        """Let time pass; ``unrecognised`` allows a word that the provider does not have yet (open enums)."""
        status, failure_reason = order.get("status"), order.get("failure_reason")
        if not isinstance(status, str) or (status not in STATUSES and not order.get("unrecognised")):
            raise ApiError(f"status must be one of {', '.join(STATUSES)}", param="status")
        if failure_reason is not None and not isinstance(failure_reason, str):
            raise ApiError("failure_reason must be a text", param="failure_reason")
        with self._book.transaction():
            return self._events.set_refund_status(identifier, status, failure_reason)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ApiError("The request body must be a JSON object.")
    return value


def _json(request: Request) -> Any:
    """Return the body; a browser page cannot send this content type to another origin unasked."""
    if request.body and request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise ApiError("Control requests are application/json.", status=415)
    try:
        value = json.loads(request.body or b"null")
        json.dumps(value, ensure_ascii=False).encode()  # half characters cannot be stored as text
    except (ValueError, RecursionError) as error:
        raise ApiError("The request body is not JSON.") from error
    return value
