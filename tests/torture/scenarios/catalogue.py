"""Every story, on a good day: what people do and what the provider does by itself. Faults are added by the sweep."""

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType

from tests.torture.run import Run
from tests.torture.scenarios import answers, everyday, later, turns

Story = Callable[[Run], None]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story by its name."""

    name: str
    tell: Story


def _stories(module: ModuleType) -> list[Story]:
    return [
        one
        for name, one in vars(module).items()
        if isinstance(one, FunctionType) and not name.startswith("_") and one.__module__ == module.__name__
    ]


SCENARIOS: dict[str, Scenario] = {
    story.__name__: Scenario(story.__name__, story)
    for module in (everyday, answers, later, turns)
    for story in _stories(module)
}
