"""The shop simulator as a subprocess on a free port, and what the tables hold as the document that a shop sends."""

import json
import os
import selectors
import signal
import subprocess
import sys
import urllib.request
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from ledger.models import LedgerEntry, Order

_ROOT = Path(__file__).resolve().parents[2]


class ShopSimulator:
    """Starts on construction; ``restart`` keeps the port and forgets every change.

    ``with ShopSimulator() as shop: shop.mirror(order)`` tells the shop what the tables hold of an order.
    """

    token = "shop-simulator-test"

    def __init__(self, *, book: Path | None = None) -> None:
        self.book = book
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The address for LEDGER_SOURCE_URL."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    def start(self) -> None:
        """Start and wait until it says that it is ready."""
        command = [sys.executable, "-m", "config.demo.shop_simulator", "--port", str(self._port)]
        command += ["--token", self.token, *(["--book", str(self.book)] if self.book else [])]
        self._process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)
        line = _first_line(self._process)
        if "ready on" not in line:
            self.stop()
            raise RuntimeError(f"the shop simulator did not start: {line!r}")
        self._port = int(line.rsplit(":", 1)[1])

    def stop(self) -> int | None:
        """End it as an operator would, and return its exit code; connections are refused from then on."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait(10)
        if process.stdout is not None:
            process.stdout.close()
        return code

    def restart(self) -> None:
        """Stop it and start it again on the same port."""
        self.stop()
        self.start()

    # -- facts
    def mirror(self, *orders: Order) -> None:
        """Let the shop tell of these orders what the tables hold now."""
        self.control("POST", "orders", {"orders": [order_document(order) for order in orders]})

    def change(self, order: Order, **values: Any) -> None:
        """Replace values of the order itself: status, customer, total_minor_units, currency, payments."""
        self.control("POST", "change", {**_named(order), "set": values})

    def add_payment(self, order: Order, payment: dict[str, Any]) -> None:
        """Add a charge with its entries."""
        self.control("POST", "payments", {**_named(order), "payment": payment})

    def add_entry(self, order: Order, payment: str, **entry: Any) -> None:
        """Add a refund, dispute or reversal to the charge with this reference."""
        self.control("POST", "entries", {**_named(order), "payment": payment, "entry": entry})

    def set_clock(self, now: datetime | None, *, stated: bool = True) -> None:
        """Stop the shop's clock; with ``stated=False`` its documents do not say when they were read."""
        moment = None if now is None else now.isoformat()
        self.control("POST", "clock", {"now": moment, "stated": stated})

    # -- trouble
    def arm(self, kind: str, **more: Any) -> None:
        """Arm one fault; ``more`` are its other fields: order, count, seconds, status, location."""
        self.control("POST", "faults", {"kind": kind, **more})

    def disarm(self) -> None:
        """Disarm every fault."""
        self.control("DELETE", "faults")

    def log(self) -> list[dict[str, Any]]:
        """Return every request for an order, oldest first."""
        found = self.control("GET", "log")["requests"]
        assert isinstance(found, list)
        return found

    def reset(self) -> None:
        """Forget every fault, request and change."""
        self.control("POST", "reset", {})

    def control(self, method: str, path: str, value: Any = None) -> Any:
        """Make one control request and return its JSON; raises HTTPError for a refused one."""
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(
            f"{self.url}/_sim/{path}", data=body, method=method, headers={"Content-Type": "application/json"}
        )
        with _OPENER.open(request, timeout=10) as response:
            return json.load(response)


def order_document(order: Order) -> dict[str, Any]:
    """Return what the tables hold of an order, in the documented format."""
    document: dict[str, Any] = {
        **_named(order),
        "customer": order.customer.reference,
        "description": order.description,
        "status": order.status,
        "placed_at": order.placed_at.isoformat(),
        "payments": [
            {
                "reference": payment.processor_reference,
                "account": payment.account,
                "method_type": payment.method_type,
                "method_fingerprint": payment.method_fingerprint,
                "method_last4": payment.method_last4,
                "created_at": payment.created_at.isoformat(),
                "entries": [_entry(row) for row in payment.entries.order_by("occurred_at", "pk")],
            }
            for payment in order.payments.order_by("pk")
        ],
    }
    if order.total_minor_units is not None:
        document["total_minor_units"] = order.total_minor_units
    return document | ({"currency": order.currency} if order.currency else {})


def _entry(row: LedgerEntry) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "reference": row.processor_reference,
        "status": row.status,
        "amount_minor_units": row.amount_minor_units,
        "currency": row.currency,
        "occurred_at": row.occurred_at.isoformat(),
    }


def _named(order: Order) -> dict[str, str]:
    return {"merchant": order.merchant.code, "number": order.number}


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _first_line(process: subprocess.Popen[str], *, seconds: float = 30.0) -> str:
    """Return the first line that the process prints, or what it printed until then."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(seconds):
            return ""
    return process.stdout.readline() or os.linesep
