"""Looking at processes from outside, by number or by what their command line contains."""

import os
import time
from pathlib import Path


def alive(pid):
    """A zombie has ended: it only waits for whoever reaps orphans here."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] != "Z"


def owner(pid):
    return Path(f"/proc/{pid}").stat().st_uid


def naming(text):
    """Process numbers whose command line or environment's marker contains `text`."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and alive(int(entry.name)):
            try:
                words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if text.encode() in words:
                found.add(int(entry.name))
    return found


def eventually(condition, seconds=15.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())
