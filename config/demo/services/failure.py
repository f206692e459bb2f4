"""How a part that can't start says so: which part, why, what to do."""

from collections.abc import Sequence


class ServiceError(Exception):
    """A part failed; its text is for the person at the terminal, with no traceback."""

    def __init__(self, part: str, why: str, advice: str, last_lines: Sequence[str] = ()) -> None:
        super().__init__(part, why, advice)
        self.part = part
        self.why = why
        self.advice = advice
        self.last_lines = tuple(last_lines)

    def __str__(self) -> str:
        lines = [f"{self.part}: {self.why}", *(f"    {line}" for line in self.last_lines)]
        return "\n".join([*lines, f"What to do: {self.advice}"])
