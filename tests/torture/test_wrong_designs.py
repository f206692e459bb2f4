"""Each wrong design is killed, and by one of the invariants that are named for it."""

import pytest

from tests.torture.kill import kill
from tests.torture.wrong_designs import WRONG_DESIGNS

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("name", sorted(WRONG_DESIGNS))
def test_it_is_killed(observer, name):
    killed = kill(observer, WRONG_DESIGNS[name])
    assert killed.invariant in WRONG_DESIGNS[name].killers, f"{name} survived {killed.tried} schedules"


def test_there_are_enough_of_them():
    assert len(WRONG_DESIGNS) >= 12
