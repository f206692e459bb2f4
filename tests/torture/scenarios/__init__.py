"""The stories that runs tell, by name; each is a function of one run."""

from tests.torture.scenarios.catalogue import SCENARIOS, Scenario

__all__ = ["SCENARIOS", "Scenario"]
