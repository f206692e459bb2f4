"""The control side under /_sim/: seeds, truth, faults. JSON in and out, no authentication, loopback only."""

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.charges import SeedError, seed_charges
from config.demo.gateway_simulator.faults import FaultError, Faults
from config.demo.gateway_simulator.journal import Journal
from config.demo.gateway_simulator.messages import Answer, ApiError, Request, json_answer
from config.demo.gateway_simulator.refunds import STATUSES, refund_object, set_status


class Control:
    """What a test or the demo may do to the provider, and what it may know of it."""

    def __init__(self, *, book: Book, faults: Faults, journal: Journal) -> None:
        self._book = book
        self._faults = faults
        self._journal = journal

    def handle(self, request: Request) -> Answer:
        """Return the answer to one control request; mistakes are answered 400 with a sentence."""
        try:
            return self._answer(request)
        except (SeedError, FaultError) as error:
            return json_answer({"error": {"message": str(error)}}, status=400)
        except ApiError as error:
            return error.answer

    def _answer(self, request: Request) -> Answer:
        parts = request.path.strip("/").split("/")[1:]
        value = _json(request) if request.method == "POST" else None
        match request.method, parts:
            case "GET", ["health"]:
                return json_answer({"status": "ok", "service": "gateway_simulator", "pid": os.getpid()})
            case "POST", ["charges"]:
                seeds = value if isinstance(value, list) else [value]
                return json_answer({"charges": len(seeds), "new": seed_charges(self._book, seeds)})
            case "GET", ["refunds"]:
                return json_answer({"refunds": self._refunds(dict(parse_qsl(request.query)))})
            case "POST", ["refunds", identifier]:
                return self._set_status(identifier, value)
            case "GET", ["log"]:
                return json_answer({"requests": self._journal.entries()})
        return self._trouble(request.method, parts, value)

    def _trouble(self, method: str, parts: list[str], value: Any) -> Answer:
        match method, parts:
            case "POST", ["reset"]:
                self._faults.end()
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
        raise ApiError("There is no such control endpoint.", status=404)

    def _refunds(self, query: dict[str, str]) -> list[dict[str, Any]]:
        """Return what is booked, oldest first, over all accounts unless one is named."""
        rows = self._book.rows("SELECT * FROM refunds ORDER BY number")
        charge, account = query.get("charge"), query.get("account")
        return [
            refund_object(row) | {"account": row["account"]}
            for row in rows
            if charge in (None, row["charge"], row["payment_intent"]) and account in (None, row["account"])
        ]

    def _set_status(self, identifier: str, value: Any) -> Answer:
        status = value.get("status") if isinstance(value, Mapping) else None
        if status not in STATUSES:
            raise ApiError(f"status must be one of {', '.join(STATUSES)}", param="status")
        failure_reason = value.get("failure_reason")
        if failure_reason is not None and not isinstance(failure_reason, str):
            raise ApiError("failure_reason must be a text", param="failure_reason")
        return json_answer(set_status(self._book, identifier, status, failure_reason))


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
