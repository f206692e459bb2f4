"""The demo's runner as a process, with stand-in parts, seen from outside."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from config.demo.services.ports import is_free
from tests.services.processes import eventually, naming

ROOT = Path(__file__).resolve().parents[2]
OWN = {"DATABASE_URL": "postgresql://own@127.0.0.1/own", "REDIS_URL": "redis://127.0.0.1:1/0"}


@pytest.fixture
def alone():
    """Each start prefers the same port, as a person expects: two tests at once would race for it."""
    with (Path(tempfile.gettempdir()) / f"refund-desk-runner-tests-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def state(alone):
    """A state folder that the server's account can reach; nothing that names it may be left running."""
    with tempfile.TemporaryDirectory(prefix="refund-desk-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / ".demo"
        assert eventually(lambda: not naming(folder))


def demo(state, case, *, services=OWN, **wishes):
    kept = {name: value for name, value in os.environ.items() if name not in OWN}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.services.stand_in", str(state), case],
        cwd=ROOT,
        env={**kept, **services, **wishes},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def until(running, text):
    """The output up to the line that contains `text`."""
    read = ""
    for line in running.stdout:
        read += line
        if text in line:
            return read
    pytest.fail(f"{text!r} was never said:\n{read}")


def told(state, case, **wishes):
    with demo(state, case, **wishes) as running:
        out, _ = running.communicate(timeout=60)
    return running.returncode, re.sub(r"\[ *[\d.]+ s\] ", "", out)


def test_once_tells_the_story_and_leaves_nothing(state):
    code, out = told(state, "whole", ONCE="1")

    assert code == 0
    assert "\nheld postgresql://own@127.0.0.1/own\n" in out
    assert out.index("gateway: ready") < out.index("migrate: doing") < out.index("web: doing")
    assert out.index("money: ready") < out.index("story: doing")
    assert out.endswith("stopped; nothing is left running\n")
    assert (state / "logs" / "migrate.log").read_text() == "tables made\n"
    assert (state / "secret_key").stat().st_mode & 0o777 == 0o600


def test_once_ends_as_the_story_ends(state):
    code, out = told(state, "story-fails", ONCE="1")

    assert code == 4
    assert "The story did not hold: story ended with exit code 4." in out


def test_a_step_that_fails_is_named_with_its_last_lines(state):
    code, out = told(state, "step-fails")

    assert code == 1
    assert out.endswith(
        "\nmigrate: it ended with exit code 1\n"
        "    no table\n"
        f"What to do: read its log, put right what it says, and start again ({state}/logs/migrate.log)\n"
    )


def test_a_part_that_never_becomes_ready_is_named(state):
    code, out = told(state, "never-ready")

    assert code == 1
    assert "\nmoney: it was not ready after 0 seconds\n    ready.\n" in out


def test_a_part_that_dies_later_stops_the_demo_and_is_named(state):
    code, out = told(state, "dies")

    assert code == 1
    assert "\nmoney: it ended with exit code 9\n    ready.\n    out of ideas\nWhat to do: " in out


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_stays_until_it_is_stopped_and_takes_all_parts_along(state, signum):
    with demo(state, "whole") as running:
        address = until(running, "open http").rsplit("open ", 1)[1].strip()
        assert len(naming(str(state))) >= 5

        running.send_signal(signum)

        assert running.wait(30) == (-signum if signum == signal.SIGKILL else 0)
    assert eventually(lambda: not naming(str(state)))
    assert is_free(int(address.rsplit(":", 1)[1]))


def test_a_second_request_to_stop_ends_a_stubborn_part_at_once(state):
    with demo(state, "stubborn") as running:
        until(running, "open http")
        running.send_signal(signal.SIGINT)
        until(running, "stopping")

        running.send_signal(signal.SIGINT)

        assert running.wait(5) == 0


def test_a_second_demo_is_refused_while_one_runs(state):
    with demo(state, "whole") as running:
        until(running, "open http")

        code, out = told(state, "whole")

        assert code == 1
        assert out == (
            f"\ndemo: it is already running here (process {running.pid})\n"
            "What to do: use that one, or stop it with Ctrl-C in its terminal and start again\n"
        )
        running.terminate()
        assert running.wait(30) == 0


def test_a_second_start_keeps_everything_and_reset_removes_it(state):
    told(state, "whole", ONCE="1")
    key = (state / "secret_key").read_text()
    (state / "books" / "gateway.json").write_text("{}")

    told(state, "whole", ONCE="1")
    assert (state / "secret_key").read_text() == key
    assert (state / "books" / "gateway.json").exists()

    _, out = told(state, "whole", ONCE="1", RESET="1")
    assert (state / "secret_key").read_text() != key
    assert not (state / "books" / "gateway.json").exists()
    assert "RESET: the database of DATABASE_URL is left as it is" in out


def test_the_services_of_its_own_are_started_used_and_stopped(state):
    with demo(state, "whole", services={}) as running:
        out = until(running, "open http")
        assert f"postgres: starting, data in {state}/postgres" in out
        assert re.search(r"^held postgresql://postgres:\w+@127\.0\.0\.1:\d+/refunds$", out, re.MULTILINE)

        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 0

    assert not naming(str(state))
    assert (state / "postgres" / "cluster" / "data" / "PG_VERSION").exists()
    assert not (state / "postgres" / "cluster" / "data" / "postmaster.pid").exists()


def test_a_fresh_start_right_after_a_kill_waits_for_the_old_server(state):
    with demo(state, "whole", services={}) as running:
        until(running, "postgres: ready")
        running.kill()
        running.wait(10)

    code, out = told(state, "whole", services={}, ONCE="1", RESET="1")

    assert code == 0
    assert "postgres: creating an empty database" in out
    assert re.search(r"^held postgresql://postgres:", out, re.MULTILINE)


def test_a_closed_console_stops_it(state):
    with demo(state, "whole", LOGS="1") as running:
        until(running, "gateway: doing")
        running.stdout.close()

        assert running.wait(30) == 128 + signal.SIGPIPE
