"""What the kernel knows: CPU seconds and peak memory of process trees, and what the disk gives at this moment."""

import os
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
PROBES: Final = 20
_PEAK: Final = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_seconds(roots: Iterable[int]) -> float:
    """Return user and system time of these processes, their descendants and the children they have reaped."""
    return sum(sum(int(ticks) for ticks in fields[11:15]) for _, fields in _tree(roots)) / _TICKS


def peak_rss_mb(roots: Iterable[int]) -> float:
    """Return the sum of each process's own peak of resident memory, in MiB; shared pages count in each."""
    total = 0
    for pid, _ in _tree(roots):
        found = _PEAK.search(_read(PROC / str(pid) / "status"))
        total += int(found.group(1)) if found else 0
    return total / 1024


def busy_and_all_ticks() -> tuple[int, int]:
    """Return clock ticks of the whole machine since its start: those not idle, and all."""
    first = _read(PROC / "stat").partition("\n")[0].split()[1:9]
    ticks = [int(part) for part in first]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def fdatasync_ms(folder: Path) -> float:
    """Return the median time of writing 8 KiB to disk, in milliseconds: read every rate against it."""
    path, taken = folder / "probe", []
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, b"x" * 65536)
        for number in range(PROBES):
            os.pwrite(descriptor, b"y" * 8192, 8192 * (number % 8))
            began = time.perf_counter()
            os.fdatasync(descriptor)
            taken.append(1000 * (time.perf_counter() - began))
    finally:
        os.close(descriptor)
        path.unlink()
    return statistics.median(taken)


def file_system(folder: Path) -> str:
    """Return the type of the file system that holds ``folder``; on tmpfs a sync costs nothing."""
    mounts = [line.split()[1:3] for line in _read(PROC / "mounts").splitlines()]
    holding = [(point, kind) for point, kind in mounts if folder.resolve().is_relative_to(point)]
    return max(holding, key=lambda mount: len(mount[0]), default=("", "unknown"))[1]


def _tree(roots: Iterable[int]) -> Iterator[tuple[int, list[str]]]:
    """Yield each process once, with the fields of its ``stat`` from the third on."""
    children: dict[int, list[int]] = defaultdict(list)
    found: dict[int, list[str]] = {}
    for folder in PROC.glob("[0-9]*"):
        head, _, tail = _read(folder / "stat").rpartition(")")
        if head:
            found[int(folder.name)] = tail.split()
            children[int(tail.split()[1])].append(int(folder.name))
    waiting, seen = list(roots), set()
    while waiting:
        pid = waiting.pop()
        if pid in found and pid not in seen:
            seen.add(pid)
            yield pid, found[pid]
            waiting += children[pid]


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
