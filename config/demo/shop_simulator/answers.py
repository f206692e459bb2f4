"""The body of an answer: the honest document, or one that is wrong in the way that a fault names."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from config.demo.shop_simulator.faults import Fault, FaultKind

Document = dict[str, Any]
_FIVE_MEGABYTES = 5 * 1024 * 1024
_NESTED = 100_000


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is sent back. ``seconds_per_byte`` sends drop by drop; ``cut`` closes after half of the body."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    seconds_per_byte: float = 0.0
    cut: bool = False


def json_answer(value: Any, *, status: int = 200) -> Answer:
    """Return a JSON body."""
    return Answer(status=status, body=json.dumps(value).encode())


def error_answer(message: str, *, status: int) -> Answer:
    """Return an error; clients read the status alone."""
    return json_answer({"error": {"message": message}}, status=status)


def order_answer(orders: list[Document], fault: Fault | None, *, taken_at: datetime | None) -> Answer:
    """Return the orders as a document; ``taken_at`` None leaves out when it was read."""
    document: Document = {"orders": orders}
    if taken_at is not None:
        document = {"taken_at": taken_at.isoformat(), **document}
    return json_answer(document) if fault is None else _faulty(document, fault)


def _faulty(document: Document, fault: Fault) -> Answer:
    if fault.kind is FaultKind.STATUS:
        return error_answer("The shop is not available.", status=fault.status)
    if fault.kind is FaultKind.REDIRECT:
        return Answer(status=302, body=b"", headers={"Location": fault.location})
    if fault.kind in _DOCUMENTS:
        return json_answer(_DOCUMENTS[fault.kind](document, fault))
    body = json.dumps(document).encode()
    if fault.kind is FaultKind.COMPRESSED:
        return Answer(status=200, body=gzip.compress(body), headers={"Content-Encoding": "gzip"})
    return Answer(
        status=200,
        body=_BODIES[fault.kind](body) if fault.kind in _BODIES else body,
        seconds_per_byte=fault.seconds if fault.kind is FaultKind.DRIP else 0.0,
        cut=fault.kind is FaultKind.CUT,
    )


def _wrong_owner(name: str) -> Callable[[Document, Fault], Document]:
    def change(document: Document, _fault: Fault) -> Document:
        return document | {"orders": [order | {name: "somebody-else"} for order in document["orders"]]}

    return change


def _first(**values: Callable[[Any], Any]) -> Callable[[Document, Fault], Document]:
    def change(document: Document, _fault: Fault) -> Document:
        asked, *others = document["orders"]
        changed = {name: new(asked.get(name)) for name, new in values.items()}
        return document | {"orders": [asked | changed, *others]}

    return change


def _read_at(sign: int) -> Callable[[Document, Fault], Document]:
    def change(document: Document, fault: Fault) -> Document:
        moment = datetime.fromisoformat(document["taken_at"]) + sign * timedelta(seconds=fault.seconds)
        return document | {"taken_at": moment.isoformat()}

    return change


_DOCUMENTS: dict[FaultKind, Callable[[Document, Fault], Document]] = {
    FaultKind.WRONG_CUSTOMER: _wrong_owner("customer"),
    FaultKind.WRONG_MERCHANT: _wrong_owner("merchant"),
    FaultKind.WRONG_ORDER: _first(number=lambda number: f"{number}-0"),
    FaultKind.WRONG_TOTAL: _first(total_minor_units=lambda total: (total or 0) + 1),
    FaultKind.NOT_A_NUMBER: _first(total_minor_units=lambda _total: float("nan")),
    FaultKind.STALE: _read_at(-1),
    FaultKind.AHEAD: _read_at(+1),
}
_BODIES: dict[FaultKind, Callable[[bytes], bytes]] = {
    FaultKind.MALFORMED: lambda body: body[: len(body) // 2],
    FaultKind.REPEATED_KEY: lambda body: body[:-1] + b', "orders": []}',
    FaultKind.DEEP: lambda _body: b'{"note": ' + b"[" * _NESTED + b"]" * _NESTED + b"}",
    FaultKind.OVERSIZED: lambda body: body[:-1] + b', "note": "' + b"x" * _FIVE_MEGABYTES + b'"}',
}
