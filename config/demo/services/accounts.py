"""Which account a server runs as, and which paths that account can use.

PostgreSQL refuses to run as root, so root starts it as `nobody`. No existing folder is ever changed to let it
in: what it can't reach is copied or placed elsewhere.
"""

import hashlib
import os
import pwd
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from config.demo.services.failure import ServiceError

UNPRIVILEGED = "nobody"
PREFIX = "refund-desk"
LASTING_TEMPORARY = Path("/var", "tmp")
SHORT_TEMPORARY = Path("/", "tmp")
CLEAN_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": "/nonexistent"}


def server_user() -> str | None:
    """None when this process's own account will do."""
    return UNPRIVILEGED if os.geteuid() == 0 else None


def server_uid(user: str | None) -> int:
    """The number of the account that `server_user` named."""
    return pwd.getpwnam(user).pw_uid if user else os.geteuid()


def hand_over(path: Path, user: str | None) -> None:
    """Make `path`, a folder or file this program has just made, belong to `user`."""
    if user:
        account = pwd.getpwnam(user)
        os.chown(path, account.pw_uid, account.pw_gid)


def succeeds_as(user: str | None, command: list[str]) -> bool:
    """Run a short command as `user`; whatever forbids it (modes, ACLs, noexec mounts) makes it fail."""
    account = pwd.getpwnam(user) if user else None
    try:
        result = subprocess.run(
            command,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
            env=CLEAN_ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
        )
    except OSError:
        return False
    return result.returncode == 0


def can_enter(user: str | None, folder: Path) -> bool:
    """True if the account can walk into `folder` (and so through all its parents)."""
    return succeeds_as(user, ["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)])


def temporary_roots() -> Iterator[Path]:
    """Where to look for a temporary place, the preferred one first."""
    yield from dict.fromkeys((Path(tempfile.gettempdir()), LASTING_TEMPORARY, SHORT_TEMPORARY))


def temporary_folder(purpose: str, user: str | None) -> Path:
    """A new folder of this process's account alone, at a place that `user` can reach."""
    for root in temporary_roots():
        if root.is_dir() and can_enter(user, root):
            return Path(tempfile.mkdtemp(prefix=f"{PREFIX}-{purpose}-", dir=root))
    raise ServiceError(
        "temporary folder",
        f"{user or 'this account'} can enter none of {', '.join(map(str, temporary_roots()))}",
        "set TMPDIR to a folder that every account can enter",
    )


def stable_folder(checkout: Path) -> Path:
    """The one place outside the checkout for its demo data, the same at every start; not created here."""
    digest = hashlib.sha256(os.fsencode(checkout.resolve())).hexdigest()[:16]
    return LASTING_TEMPORARY / f"{PREFIX}-{os.geteuid()}-{digest}"


def make_private(folder: Path) -> Path:
    """Create `folder` where anybody may write; an existing one must be this account's own."""
    try:
        folder.mkdir(mode=0o700)
        folder.chmod(0o755)
    except FileExistsError:
        require_own(folder)
    return folder


def require_own(folder: Path) -> None:
    """Raise ServiceError if anybody else made `folder` or could change what is in it."""
    found = folder.lstat()
    writable_by_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or writable_by_others:
        raise ServiceError(
            "PostgreSQL",
            f"{folder} is not a folder that only this account can write to",
            f"look at what it is, remove it (rm -r {folder}), and start again",
        )
