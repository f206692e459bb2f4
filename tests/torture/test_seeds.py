"""Schedules that broke something once, played again for ever."""

import json
from pathlib import Path

import pytest

from tests.torture.replay import UnknownSeedError, replay

SEEDS = sorted((Path(__file__).parent / "seeds").glob("*.json"))

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_what_broke_once_holds_now(observer, path):
    kept = json.loads(path.read_text())
    result = replay(observer, kept["seed"])
    assert result.violations == (), f"make torture SEED={kept['seed']}"


@pytest.mark.parametrize(
    "seed", ["", "chaos", "chaos-x", "clean-nothing", "sweep-automatic-1-nothing", "sweep-automatic-x-slow"]
)
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(UnknownSeedError):
        replay(None, seed)
