"""One process of a campaign, over a database of its own. Django is set up here, so nothing of it is imported above."""

import os
import signal
import time
from multiprocessing.queues import Queue
from typing import Any
from urllib.parse import urlsplit, urlunsplit


def set_up(database: str) -> None:
    """Let this process work on ``database`` of the server that DATABASE_URL names."""
    parts = urlsplit(os.environ["DATABASE_URL"])
    os.environ["DATABASE_URL"] = urlunsplit(parts._replace(path=f"/{database}"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django  # noqa: PLC0415 - the settings read the environment

    django.setup()


def work(database: str, share: tuple[int, int, int, float], heard: "Queue[Any]", stop: Any) -> None:
    """Run one share and put its tally into the queue: now and then how far it is, and in the end all of it.

    ``stop`` is an event between the processes: once it is set, the share ends after the schedule under way.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process hears it, and says when to stop
    set_up(database)
    from tests.torture.beat import load_scanners  # noqa: PLC0415
    from tests.torture.campaign import Campaign, Share  # noqa: PLC0415
    from tests.torture.database import Observer  # noqa: PLC0415

    load_scanners()
    index, of, seed, minutes = share
    observer, told = Observer(), [0]

    def say(tally: Any) -> None:
        heard.put((index, (tally.schedules, len(tally.violations), len(tally.covered))))
        for one in tally.violations[told[0] :]:
            heard.put((index, f"{one.seed}: {one.invariant}: {one.detail}"))
        told[0] = len(tally.violations)

    try:
        ends_at = time.monotonic() + 60 * minutes
        heard.put((index, Campaign(observer, Share(index, of, seed, ends_at, stop.is_set), say).run()))
    finally:
        observer.close()


def play_again(database: str, seed: str) -> int:
    """Play one seed twice and print its story; 0 if it held and was the same both times."""
    set_up(database)
    from tests.torture.beat import load_scanners  # noqa: PLC0415
    from tests.torture.database import Observer  # noqa: PLC0415
    from tests.torture.replay import UnknownSeedError, replay  # noqa: PLC0415

    load_scanners()
    observer = Observer()
    try:
        first, again = replay(observer, seed), replay(observer, seed)
    except UnknownSeedError as error:
        print(error)
        return 2
    finally:
        observer.close()
    print("\n".join(first.story))
    for point_kind, fault in first.fired:
        print(f"fault: {fault} at {point_kind}")
    for name, detail in first.violations:
        print(f"broken: {name}: {detail}")
    same = first.trace == again.trace
    print(
        f"trace {first.trace}{'' if same else f', and then {again.trace}: the schedule is not deterministic'}"
    )
    return 0 if same and not first.violations else 1
