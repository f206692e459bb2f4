"""Plays a schedule again by its name, which is its seed."""

from tests.torture import chaos
from tests.torture.database import Observer
from tests.torture.kill import racing
from tests.torture.points import FAULTS, Fault
from tests.torture.scenarios import SCENARIOS
from tests.torture.schedule import Result, play
from tests.torture.sweep import chooser


class UnknownSeedError(ValueError):
    """If you see this, the seed is none that a report prints: clean-STORY, sweep-STORY-N-FAULT, race-STORY-N, chaos-N."""


def replay(observer: Observer, seed: str) -> Result:
    """Play the schedule of a seed; raises ``UnknownSeedError``."""
    family, *rest = seed.split("-")
    try:
        match family, rest:
            case "chaos", [number]:
                return chaos.fly(observer, int(number))
            case "clean", [story]:
                return play(observer, SCENARIOS[story], name=seed)
            case "race", [story, number]:
                return play(
                    observer, SCENARIOS[story], name=seed, habits=racing(int(number)), seed=int(number)
                )
            case "sweep", [story, number, fault]:
                choose = chooser(int(number), Fault(fault))
                return play(observer, SCENARIOS[story], name=seed, choose=choose)
    except (KeyError, ValueError) as error:
        raise UnknownSeedError(f"{seed}: {error}") from error
    raise UnknownSeedError(f"{seed}: {UnknownSeedError.__doc__}")


ALL_FAULTS = frozenset(fault for faults in FAULTS.values() for fault in faults)
