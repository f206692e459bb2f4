"""The other bench's words into the product's, and the product's into the other bench's."""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import httpx2

from config.demo.bench.client import Client
from config.demo.bench.orders import order_number
from config.demo.bench.stubs import CURRENCY, Answer

_PATH: Final = "/api/v1/refund-requests"


@dataclass(frozen=True)
class Addresses:
    """The other bench's servers."""

    gateway: str
    model: str
    notify: str


@dataclass
class Translation:
    """``tokens`` are by order. A message may be there before the answer that names its request."""

    api: Client
    tokens: list[str]
    addresses: Addresses
    http: httpx2.AsyncClient = field(default_factory=lambda: httpx2.AsyncClient(timeout=60))
    _order_of: dict[str, int] = field(default_factory=dict)
    _workflow_of: dict[str, str] = field(default_factory=dict)
    _told_early: set[str] = field(default_factory=set)
    _sending: set[asyncio.Task[Any]] = field(default_factory=set)

    async def front(self, path: str, _headers: dict[str, str], body: bytes) -> Answer:
        """Answer the other bench's driver."""
        if path == "/ready":
            return HTTPStatus.OK, {"ready": True}
        if path == "/request":
            return await self._open(int(json.loads(body)["order_id"].removeprefix("o")) - 1)
        workflow_id = path.rpartition("/")[2]
        token = self.tokens[self._order_of[workflow_id]]
        _, seen = await self.api.call("GET", f"{_PATH}/{workflow_id}", token=token)
        completed_at = datetime.fromisoformat(seen["updated_at"]).timestamp()
        return HTTPStatus.OK, {"status": seen["state"], "completed_at": completed_at}

    async def gateway(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Pass a refund on, with the currency that belongs to the charge, and give its metadata back."""
        form = dict(parse_qsl(body.decode()))
        answer = await self.http.post(
            self.addresses.gateway + path,
            content=urlencode({**form, "currency": CURRENCY}),
            headers={
                "Idempotency-Key": headers.get("idempotency-key", ""),
                "Content-Type": "application/x-www-form-urlencoded",
            },
        )
        pairs = {name[9:-1]: value for name, value in form.items() if name.startswith("metadata[")}
        said = {**answer.json(), "metadata": pairs, "payment_intent": form.get("payment_intent")}
        return answer.status_code, said

    async def model(self, _path: str, _headers: dict[str, str], body: bytes) -> Answer:
        """Pass a question on."""
        answer = await self.http.post(
            f"{self.addresses.model}/chat/completions",
            content=body,
            headers={"Content-Type": "application/json"},
        )
        return answer.status_code, {"created": 0, **answer.json()}

    def delivered(self, reference: str) -> None:
        """A message about this reference arrived."""
        if reference in self._workflow_of:
            self._notify(self._workflow_of[reference])
        else:
            self._told_early.add(reference)

    async def _open(self, index: int) -> Answer:
        order = order_number(index)
        asked = {"message": f"I was charged twice for order {order}.", "order_number": order}
        status, answer = await self.api.call("POST", _PATH, asked, token=self.tokens[index])
        if status not in {HTTPStatus.OK, HTTPStatus.CREATED}:
            return HTTPStatus.INTERNAL_SERVER_ERROR, {"status": status, "answer": answer}
        workflow_id = str(answer["workflow_id"])
        self._order_of[workflow_id] = index
        self._workflow_of[answer["reference"]] = workflow_id
        if answer["reference"] in self._told_early:
            # The driver learns the id from the answer to this request, and takes a message before it as well.
            self._notify(workflow_id)
        return HTTPStatus.ACCEPTED, {"id": workflow_id}

    def _notify(self, workflow_id: str) -> None:
        event = {"id": workflow_id, "event_id": f"refund.completed:{workflow_id}"}
        sending = asyncio.ensure_future(self.http.post(self.addresses.notify, json=event))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)
