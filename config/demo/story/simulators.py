"""The control sides of the shop, the model and the mail server: what the story makes go wrong there, and looks up."""

import json
from pathlib import Path
from typing import Any

import httpx2
from django.conf import settings

Row = dict[str, Any]


class Shop:
    """The shop's simulator. It forgets new orders when it stops, so they are kept in a file for the next start."""

    def __init__(self, kept: Path) -> None:
        self._client = httpx2.Client(base_url=settings.LEDGER_SOURCE_URL, timeout=10)
        self._kept = kept

    def take(self, orders: list[Row]) -> None:
        """Let the shop have these orders, now and at later starts."""
        self._tell(orders)
        unfinished = self._kept.with_suffix(".new")
        unfinished.write_text(json.dumps({"orders": [*self._known(), *orders]}), encoding="utf-8")
        unfinished.replace(self._kept)

    def remember(self) -> int:
        """Give a shop that was started again the orders of earlier tellings, and return how many."""
        orders = self._known()
        self._tell(orders)
        return len(orders)

    def break_for(self, number: str) -> None:
        """Answer 503 about one order until ``repair``."""
        fault = {"kind": "status", "status": 503, "count": None, "order": number}
        self._client.post("/_sim/faults", json=fault).raise_for_status()

    def repair(self) -> None:
        """Answer about every order again."""
        self._client.delete("/_sim/faults").raise_for_status()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _tell(self, orders: list[Row]) -> None:
        if orders:
            self._client.post("/_sim/orders", json={"orders": orders}).raise_for_status()

    def _known(self) -> list[Row]:
        if not self._kept.exists():
            return []
        orders: list[Row] = json.loads(self._kept.read_text(encoding="utf-8"))["orders"]
        return orders


class Model:
    """The model's simulator."""

    def __init__(self) -> None:
        self._client = httpx2.Client(base_url=settings.OPENAI_BASE_URL.removesuffix("/v1"), timeout=10)

    def trick(self, name: str) -> None:
        """Let the next answer be a hostile one."""
        fault = {"kind": "trick", "name": name, "count": 1}
        self._client.post("/_sim/faults", json=fault).raise_for_status()

    def calm(self) -> bool:
        """Disarm everything; True if nothing was armed any more."""
        armed = self._client.get("/_sim/faults").raise_for_status().json()["armed"]
        self._client.delete("/_sim/faults").raise_for_status()
        return not armed


class RealModel:
    """A real model in the simulator's place: what it says is its own, and nothing can be armed."""

    def calm(self) -> bool:
        """Do nothing, and say so: nothing was armed."""
        return True


class MailServer:
    """The mail server's simulator."""

    def __init__(self, control: str) -> None:
        self._client = httpx2.Client(base_url=control, timeout=10)

    def shut(self) -> None:
        """Refuse connections."""
        self._door(is_open=False)

    def open(self) -> None:
        """Take mail."""
        self._door(is_open=True)

    def _door(self, *, is_open: bool) -> None:
        self._client.post("/_sim/door", json={"open": is_open}).raise_for_status()

    def messages_with(self, text: str) -> list[Row]:
        """Return the accepted messages whose body has ``text``."""
        messages = self._client.get("/_sim/messages").raise_for_status().json()["messages"]
        return [message for message in messages if text in message["body"]]
