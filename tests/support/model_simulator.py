"""The model simulator as a subprocess on a free port with a book of its own."""

from pathlib import Path
from typing import Any

from tests.support.simulator_process import SimulatorProcess


class ModelSimulator(SimulatorProcess):
    """Starts on construction; ``restart`` keeps the port and the book.

    ``with ModelSimulator(book=tmp_path / "model.sqlite3") as simulator: ...``
    """

    module = "config.demo.model_simulator"
    api_key = "sk-simulator"
    model = "demo-proposer-1"

    def __init__(self, *, book: Path) -> None:
        self.book = book
        super().__init__()

    @property
    def url(self) -> str:
        """The address for OPENAI_BASE_URL."""
        return f"{self.origin}/v1"

    def arguments(self) -> list[str]:
        return ["--book", str(self.book)]

    def arm(self, kind: str, **more: Any) -> None:
        """Arm one fault; ``more`` are its other fields.

        They are count, question, seconds, status, retry_after, content, name, copies.
        """
        self.control("POST", "faults", {"kind": kind, **more})

    def faults(self) -> list[dict[str, Any]]:
        """Return what is armed, the next one first."""
        found = self.control("GET", "faults")["armed"]
        assert isinstance(found, list)
        return found

    def log(self) -> list[dict[str, Any]]:
        """Return every chat completion request, oldest first."""
        found = self.control("GET", "log")["requests"]
        assert isinstance(found, list)
        return found
