"""The mail simulator as a subprocess on free ports, with a folder of its own."""

import re
import time
from pathlib import Path
from typing import Any

from tests.support.simulator_process import SimulatorProcess


class MailSimulator(SimulatorProcess):
    """Starts on construction; ``restart`` keeps the ports and the accepted messages.

    ``with MailSimulator(outbox=tmp_path / "mail") as mail: ...`` and ``EMAIL_URL=mail.url``
    """

    module = "config.demo.mail_simulator"

    def __init__(self, *, outbox: Path) -> None:
        self.outbox = outbox
        self.smtp_port = 0
        super().__init__()

    @property
    def url(self) -> str:
        """The address for EMAIL_URL."""
        return f"smtp://127.0.0.1:{self.smtp_port}"

    def arguments(self) -> list[str]:
        return ["--smtp-port", str(self.smtp_port), "--outbox", str(self.outbox)]

    def started(self, line: str) -> None:
        found = re.search(r"smtp://127\.0\.0\.1:(\d+)", line)
        assert found is not None
        self.smtp_port = int(found[1])

    def arm(self, kind: str, **more: Any) -> None:
        """Arm one fault: temporary, rejected, hang, drop, drop_after_data; ``more``: on, recipient, count, ..."""
        self.control("POST", "faults", {"kind": kind, **more})

    def disarm(self) -> None:
        """Disarm every fault and open the door."""
        self.control("DELETE", "faults")

    def refuse_connections(self) -> None:
        """Listen no more, until ``disarm``."""
        self.control("POST", "door", {"open": False})

    def messages(self, recipient: str | None = None) -> list[dict[str, Any]]:
        """Return what was accepted, oldest first: sender, recipients, message_id, subject, body, file."""
        found = self.control("GET", "messages")["messages"]
        return [one for one in found if recipient in (None, *one["recipients"])]

    def wait_for(self, count: int, *, seconds: float = 30.0) -> list[dict[str, Any]]:
        """Return the messages once there are so many."""
        deadline = time.monotonic() + seconds
        while len(found := self.messages()) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(found)} of {count} messages came")
            time.sleep(0.05)
        return found

    def log(self) -> list[dict[str, Any]]:
        """Return every stage that a client reached, oldest first: at, stage, recipients, fault."""
        found = self.control("GET", "log")["stages"]
        assert isinstance(found, list)
        return found

    def connections(self) -> int:
        """Return how often a client connected."""
        return sum(entry["stage"] == "connect" for entry in self.log())
