"""Ways to see that a process is ready; each makes a `Ready` for the table."""

import contextlib
import re
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from config.demo.runner.process import Ready

LOOK_SECONDS = 1.0
# Proxies of the environment are for the outside world, not for this machine.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answers(url: str) -> Ready:
    """A GET is answered with 2xx; redirects are followed."""

    def ready(_log: Path) -> bool:
        with contextlib.suppress(OSError), _DIRECT.open(url, timeout=LOOK_SECONDS):
            return True
        return False

    return ready


def listens(host: str, port: int) -> Ready:
    """A TCP connection is accepted."""

    def ready(_log: Path) -> bool:
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=LOOK_SECONDS):
            return True
        return False

    return ready


def says(pattern: str) -> Ready:
    """A line of its output matches the regular expression."""
    wanted = re.compile(pattern)

    def ready(log: Path) -> bool:
        with contextlib.suppress(OSError), log.open(errors="replace") as lines:
            return any(wanted.search(line) for line in lines)
        return False

    return ready


def succeeds(command: Sequence[str], env: Mapping[str, str], *, seconds: float = 10.0) -> Ready:
    """A command ends with 0, for instance a ping through the broker."""

    def ready(_log: Path) -> bool:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            result = subprocess.run(
                command,
                env=dict(env),
                timeout=seconds,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                start_new_session=True,
            )
            return result.returncode == 0
        return False

    return ready
