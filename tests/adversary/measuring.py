"""``python -m tests.adversary.measuring``: judge each output of the corpus in a process of its own, under limits.

Prints one JSON line for each: its name, the class, CPU seconds, the largest resident memory in bytes. A process that
exceeds a limit is killed or fails, and its class is empty.
"""

import json
import os
import resource
import sys
from typing import Final

from tests.adversary.judging import judge
from tests.adversary.outputs import Output, all_outputs

CPU_SECONDS: Final = 1
MEMORY_BYTES: Final = 200 * 1024 * 1024


def main() -> int:
    for output in all_outputs():
        got, seconds, memory = _measured(output)
        print(json.dumps([output.name, got, seconds, memory]), flush=True)
    return 0


def _measured(output: Output) -> tuple[str, float, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _judge_and_leave(output, writing)
    os.close(writing)
    with os.fdopen(reading) as answer:
        got = answer.read()
    _, status, used = os.wait4(child, 0)
    return got if status == 0 else "", used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def _judge_and_leave(output: Output, writing: int) -> None:
    """Answer and end: a copy of this process must never go on with what its original does."""
    code = os.EX_SOFTWARE
    try:
        _judge_limited(output, writing)
        code = os.EX_OK
    finally:
        os._exit(code)  # also after MemoryError, and whatever else the limits lead to


def _judge_limited(output: Output, writing: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.write(writing, judge(output.text).encode())


if __name__ == "__main__":
    sys.exit(main())
