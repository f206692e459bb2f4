"""`python -m config.demo.services run`: the launcher as a process, seen from outside."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.services.processes import eventually, naming

ROOT = Path(__file__).resolve().parents[2]
OWN = {"DATABASE_URL": "postgresql://own@127.0.0.1/own", "REDIS_URL": "redis://127.0.0.1:1/0"}


def launcher(*command, marker="", **env):
    kept = {name: value for name, value in os.environ.items() if name not in OWN}
    return subprocess.Popen(
        [sys.executable, "-m", "config.demo.services", "run", "--tests", "--", *command],
        cwd=ROOT,
        env={**kept, "TMPDIR": marker or kept.get("TMPDIR", "/tmp"), **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def place():
    """A temporary folder of this test alone, open to the server's account; its name marks every process."""
    with tempfile.TemporaryDirectory(prefix="refund-desk-test-") as folder:
        Path(folder).chmod(0o755)
        yield folder
        assert eventually(lambda: not naming(folder))
        assert list(Path(folder).iterdir()) == []


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137)])
def test_its_exit_code_is_the_command_s(script, code):
    with launcher("sh", "-c", script, **OWN) as running:
        assert running.wait(20) == code


def test_a_command_that_cannot_run_is_127():
    with launcher("no-such-command", **OWN) as running:
        assert "cannot run no-such-command: No such file or directory" in running.communicate(timeout=20)[1]
        assert running.returncode == 127


def test_services_that_are_named_already_are_used_and_provider_credentials_withheld():
    with launcher(
        "sh",
        "-c",
        'echo "$DATABASE_URL $REDIS_URL [$STRIPE_API_KEY$OPENAI_API_KEY]"',
        STRIPE_API_KEY="sk_live_x",
        OPENAI_API_KEY="x",
        **OWN,
    ) as running:
        out, errors = running.communicate(timeout=20)
    assert out == "postgresql://own@127.0.0.1/own redis://127.0.0.1:1/0 []\n"
    assert errors == ""


def test_both_services_are_there_for_the_command_and_gone_after_its_failure(place):
    script = (
        "import os, psycopg, redis\n"
        "print(psycopg.connect(os.environ['DATABASE_URL']).execute('SELECT 6 * 7').fetchone()[0])\n"
        "print(redis.Redis.from_url(os.environ['REDIS_URL']).ping())\n"
        "raise SystemExit(3)\n"
    )
    with launcher(sys.executable, "-c", script, marker=place) as running:
        out, _ = running.communicate(timeout=60)
    assert (running.returncode, out) == (3, "42\nTrue\n")
    assert not naming(place)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_launcher_that_is_stopped_or_killed(place, signum):
    with launcher("sh", "-c", "echo up; sleep 60 & wait", marker=place) as running:
        assert running.stdout.readline() == "up\n"
        assert len(naming(place)) >= 6

        running.send_signal(signum)

        assert running.wait(20) == (-signum if signum == signal.SIGKILL else 128 + signum)
        assert eventually(lambda: not naming(place))


def test_the_command_gets_one_interrupt_and_may_end_in_its_own_way():
    script = "trap 'echo interrupted; exit 5' INT; echo up; while :; do sleep 0.1; done"
    with launcher("sh", "-c", script, **OWN) as running:
        assert running.stdout.readline() == "up\n"

        running.send_signal(signal.SIGINT)

        assert running.communicate(timeout=20)[0] == "interrupted\n"
        assert running.returncode == 5
