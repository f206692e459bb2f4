"""The messages that were accepted: one whole ``.eml`` file for each, in the order of their names."""

import email
import email.policy
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any


class Mailbox:
    """The folder is all that is remembered; it may have messages of earlier starts."""

    def __init__(self, folder: Path) -> None:
        """Make the folder if it is missing; raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock = threading.Lock()

    def keep(self, content: bytes, *, sender: str, recipients: list[str]) -> None:
        """Write one message, whole or not at all, with the envelope on top as mail servers do."""
        lines = [f"Return-Path: <{sender}>", *(f"Delivered-To: {one}" for one in recipients)]
        head = "".join(f"{line}\r\n" for line in lines).encode("utf-8", "surrogateescape")
        handle, unfinished = tempfile.mkstemp(dir=self._folder, prefix=".unfinished-")
        with os.fdopen(handle, "wb") as file:
            file.write(head + content)
        with self._lock:
            # The name tells when it came, in nanoseconds since 1970.
            Path(unfinished).replace(self._folder / f"{time.time_ns():020d}.eml")

    def messages(self) -> list[dict[str, Any]]:
        """Return every message, oldest first."""
        return [_shown(path) for path in self._files()]

    def empty(self) -> None:
        """Delete every message."""
        for path in self._files():
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.eml"))


def _shown(path: Path) -> dict[str, Any]:
    content = path.read_bytes()
    mail = email.message_from_bytes(content, policy=email.policy.default)
    # As it was written: the policy cuts an id off at a character that RFC 5322 does not allow in one.
    message_id = email.message_from_bytes(content, policy=email.policy.compat32)["Message-ID"]
    body = mail.get_body(("plain",))
    return {
        "file": path.name,
        "sender": str(mail["Return-Path"] or "").strip("<>"),
        "recipients": [str(one) for one in mail.get_all("Delivered-To", [])],
        "message_id": str(message_id or "").strip(),
        "subject": str(mail["Subject"] or ""),
        "body": body.get_content() if body is not None else "",
    }
