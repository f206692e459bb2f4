"""How most stories begin."""

from tests.torture.people import People
from tests.torture.points import Fault
from tests.torture.run import Run
from tests.torture.shop import duplicate_shop


def of_a_duplicate(run: Run, **shop: object) -> People:
    """Return the people of a shop with an order that was charged twice."""
    return People(run, duplicate_shop(run.provider, run.clock(), **shop))  # type: ignore[arg-type]


def asked(run: Run, *ordered: Fault) -> People:
    """Let a customer ask and everything come to rest; the submissions meet what is ordered."""
    people = of_a_duplicate(run)
    run.wire.ordered = list(ordered)
    people.ask()
    run.settle()
    return people
