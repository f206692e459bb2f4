"""Prints what a campaign showed, and says whether it held."""

from collections import Counter
from collections.abc import Callable

from tests.torture.replay import ALL_FAULTS
from tests.torture.tally import Tally

# What must happen now and then, or the campaign did not test what it says.
SOMETIMES = (
    "a command was sent again",
    "the provider replayed a kept answer",
    "absence was contradicted",
    "nothing was executed and the operation waited",
    "money came back after completion",
    "late evidence moved an abandoned operation",
    "an event led to a look-up",
    "an approval was voided",
    "finance got a case",
    "two workers were interleaved",
    "a worker waited for a row that another held",
)
_MOST_LINES = 40


def report(tally: Tally, legal: set[tuple[str, str, str]], say: Callable[[str], None] = print) -> bool:
    """Print the report; False when something is broken, uncovered or alive."""
    minutes = max(tally.seconds / 60, 1e-9)
    families = ", ".join(f"{name} {count}" for name, count in sorted(tally.families.items()))
    say("")
    say(f"schedules            {tally.schedules} ({families})")
    say(f"distinct by trace    {len(tally.traces)}")
    say(f"rate                 {tally.schedules / minutes:.0f} a minute, {minutes:.1f} minutes")
    covered = _cells(tally, say)
    _faults(tally, say)
    taken = {move for move in tally.transitions if move in legal}
    say(
        f"legal transitions    {len(taken)} of {len(legal)} taken by schedules, {tally.written} by the writer"
    )
    for kind, source, target in sorted(legal - taken):
        say(f"  by the writer only {kind} {source} > {target}")
    say(f"illegal transitions  {tally.refused} refused, each by the writer and by PostgreSQL")
    _sometimes(tally, say)
    killed = _designs(tally, say)
    _violations(tally, say)
    return covered and killed and not tally.violations and tally.written == len(legal)


def _cells(tally: Tally, say: Callable[[str], None]) -> bool:
    missing = sorted(map(str, tally.planned - tally.covered))
    cells = len({cell for cell, _ in tally.planned})
    share = len(tally.covered & tally.planned) / max(len(tally.planned), 1)
    say(
        f"boundary x fault     {len(tally.covered & tally.planned)} of {len(tally.planned)}"
        f" ({share:.1%}), {cells} boundaries recorded"
    )
    say(f"  in each story      {len(tally.in_their_story)} of {tally.stories_cells}")
    for line in missing[:_MOST_LINES]:
        say(f"  not reached        {line}")
    if len(missing) > _MOST_LINES:
        say(f"  not reached        … and {len(missing) - _MOST_LINES} more")
    return not missing


def _faults(tally: Tally, say: Callable[[str], None]) -> None:
    every = sorted(ALL_FAULTS)
    say(f"kinds of fault       {len(tally.fired)} of {len(every)}, {sum(tally.fired.values())} in all")
    wanted = {(a, b) for a in every for b in every}
    say(
        f"pairs of faults      {len(tally.pairs & wanted)} of {len(wanted)}, one after the other in a schedule"
    )


def _sometimes(tally: Tally, say: Callable[[str], None]) -> None:
    for what in SOMETIMES:
        say(f"sometimes            {tally.sometimes[what]:6d}  {what}")


def _designs(tally: Tally, say: Callable[[str], None]) -> bool:
    dead = [one for one in tally.killed if one.invariant is not None]
    say(f"wrong designs        {len(dead)} of {len(tally.killed)} killed")
    for one in sorted(tally.killed, key=lambda one: one.design):
        by = f"{one.invariant} in {one.schedule}" if one.invariant else f"SURVIVED {one.tried} schedules"
        say(f"  {one.design:33s} {by}")
    return len(dead) == len(tally.killed)


def _violations(tally: Tally, say: Callable[[str], None]) -> None:
    say(f"violations           {len(tally.violations)}")
    for name, count in Counter(one.invariant for one in tally.violations).most_common():
        say(f"  {name}: {count}")
    for one in tally.violations[:_MOST_LINES]:
        say(f"  make torture SEED={one.seed}   {one.invariant}: {one.detail[:200]}")
