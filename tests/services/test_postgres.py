import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest

from config.demo.services import accounts, binaries, cluster, ports, postgres
from config.demo.services.failure import ServiceError
from tests.services.processes import alive, eventually, naming, owner

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts the server as another account")


def nothing():
    pass


def ignore(_text):
    pass


@pytest.fixture
def home():
    """A place the server's account can reach (pytest's own folder is closed to it)."""
    with tempfile.TemporaryDirectory(prefix="refund-desk-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def where():
    """One stopped cluster for the tests below, each of which leaves it as it was: making one takes longest."""
    with tempfile.TemporaryDirectory(prefix="refund-desk-test-") as folder:
        Path(folder).chmod(0o755)
        made = cluster.Cluster(Path(folder) / "postgres", accounts.server_user())
        with serving(made, Path(folder) / "log"):
            pass
        yield made


@contextlib.contextmanager
def serving(where, log):
    server = postgres.start(where, log=log, durable=False, check=nothing, say=ignore)
    try:
        yield server
    finally:
        server.stop()


def ask(server, sql):
    with psycopg.connect(server.url, autocommit=True) as connection:
        return connection.execute(sql).fetchone()


def test_a_temporary_server_is_local_needs_its_password_and_goes_with_its_folder():
    said = []

    server = postgres.start_temporary(check=nothing, say=said.append)

    try:
        assert said[0] == "creating an empty database"
        assert ask(server, "SELECT current_database(), current_setting('TimeZone')") == ("refunds", "UTC")
        assert ask(server, "SELECT current_setting('listen_addresses')") == ("127.0.0.1",)
        assert ask(server, "SELECT current_setting('unix_socket_directories')") == ("",)
        assert ask(server, "SELECT current_setting('fsync'), current_setting('max_connections')") == (
            "off",
            "200",
        )
        assert owner(server.child.pid) == (
            pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.geteuid()
        )
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.url.replace(server.cluster.password(), "guess"))
    finally:
        server.stop()
    assert not alive(server.child.pid)
    assert not server.cluster.home.exists()
    assert ports.is_free(server.port)


def test_data_survives_a_stop_and_a_kill(where, home):
    with serving(where, home / "log") as server, psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 41 AS number")
        connection.execute("CHECKPOINT")
    assert not (where.data / "postmaster.pid").exists()

    with serving(where, home / "log") as server:
        assert ask(server, "SELECT number FROM kept") == (41,)
        os.kill(server.child.pid, signal.SIGKILL)
        assert server.child.wait(10) == 128 + signal.SIGKILL
    assert (where.data / "postmaster.pid").exists()

    with serving(where, home / "log") as server:
        assert ask(server, "SELECT number FROM kept") == (41,)


def test_a_number_that_somebody_else_got_does_not_keep_it_from_starting(where, home):
    account = pwd.getpwnam("nobody") if where.user else None
    somebody = subprocess.Popen(["sleep", "60"], user=account.pw_uid if account else None)
    try:
        (where.data / "postmaster.pid").write_text(f"{somebody.pid}\n{where.data}\n1\n5432\n\n\n")

        with serving(where, home / "log") as server:
            assert ask(server, "SELECT 1") == (1,)

        assert somebody.poll() is None
    finally:
        somebody.kill()
        somebody.wait()


def test_a_live_server_of_the_same_data_is_named_and_left_alone(where):
    other = subprocess.Popen(["sh", "-c", "sleep 60; :", str(where.data)])
    try:
        (where.data / "postmaster.pid").write_text(f"{other.pid}\n")
        assert eventually(lambda: other.pid in naming(str(where.data)))

        with pytest.raises(ServiceError, match=rf"process {other.pid} is a server that already uses"):
            where.stale_pid_file()

        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
        (where.data / "postmaster.pid").unlink()


def test_data_in_use_is_refused_with_a_sentence(where, monkeypatch):
    monkeypatch.setattr(cluster, "LOCK_SECONDS", 0.1)

    with where.lock(nothing), pytest.raises(ServiceError) as refused, where.lock(nothing):
        pytest.fail("two holders")

    assert str(refused.value) == (
        f"PostgreSQL: another running instance uses {where.home}\n"
        "What to do: stop it (Ctrl-C in its terminal), then start again"
    )


def test_data_of_another_version_is_refused(where):
    version = (where.data / "PG_VERSION").read_text()
    (where.data / "PG_VERSION").write_text("9\n")

    with pytest.raises(ServiceError, match="was made by version 9, this is 18"):
        where.prepare()

    (where.data / "PG_VERSION").write_text(version)


def test_a_port_that_was_taken_meanwhile_is_given_up(where, home, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        offers = iter([taken.getsockname()[1], ports.free_port()])
        monkeypatch.setattr(ports, "free_port", lambda: next(offers))

        with serving(where, home / "log") as server:
            assert server.port != taken.getsockname()[1]
            assert ask(server, "SELECT 1") == (1,)


def test_a_start_that_fails_says_why_with_the_last_lines(where, home):
    control = where.data / "global" / "pg_control"
    control.rename(control.with_name("aside"))

    with pytest.raises(ServiceError) as failed:
        postgres.start(where, log=home / "log", durable=False, check=nothing, say=ignore)

    control.with_name("aside").rename(control)
    assert failed.value.why == "it ended while starting"
    assert any("could not find the database system" in line for line in failed.value.last_lines)


@AS_ROOT
def test_programs_and_data_that_nobody_can_reach_are_served_from_a_private_copy(tmp_path, home, monkeypatch):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    site = closed / "site-packages"
    for part in (binaries.INSTALLATION, binaries.LIBRARIES):
        shutil.copytree(binaries.packages_folder() / part, site / part, copy_function=os.link)
    monkeypatch.setattr(binaries, "packages_folder", lambda: site)
    monkeypatch.setattr(accounts, "LASTING_TEMPORARY", home)
    state = closed / ".demo"
    state.mkdir()

    where = cluster.for_demo(state, closed, "nobody")
    with serving(where, state / "log") as server:
        assert ask(server, "SELECT 1") == (1,)

    copy, data = sorted(home.iterdir(), key=lambda path: "-postgres-" not in path.name)
    assert where.home.parent == data == accounts.stable_folder(closed)
    assert copy.stat().st_uid == 0
    assert copy.stat().st_mode & 0o022 == 0
    assert closed.stat().st_mode & 0o777 == 0o700
    before = copy.stat().st_ino
    (copy / binaries.INSTALLATION / "share" / "postgres.bki").unlink()
    assert binaries.installation("nobody") == copy / binaries.INSTALLATION
    assert copy.stat().st_ino != before
    assert [path for path in home.iterdir() if path not in {copy, data}] == []


@AS_ROOT
def test_a_folder_somebody_else_put_in_place_is_refused(tmp_path, home, monkeypatch):
    monkeypatch.setattr(accounts, "LASTING_TEMPORARY", home)
    planted = accounts.stable_folder(tmp_path)
    planted.mkdir()
    os.chown(planted, 65534, 65534)

    with pytest.raises(ServiceError, match="is not a folder that only this account can write to"):
        cluster.for_demo(tmp_path, tmp_path, "nobody")


def test_a_keeper_that_is_killed_takes_its_server_along(where, home):
    with serving(where, home / "log") as server:
        server.child.keeper.kill()

        assert eventually(lambda: not alive(server.child.pid))
