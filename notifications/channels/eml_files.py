"""A mail backend for Django that writes each message into a folder, one whole file per message."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

from ledger.ids import new_id


class EmlFolderBackend(BaseEmailBackend):
    """Each ``.eml`` appears complete or not at all: it is written beside its place and then renamed."""

    def __init__(self, *, folder: str, **options: Any) -> None:
        super().__init__(**options)
        self._folder = Path(folder)

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Write the messages; return how many. Raises OSError when the folder cannot be written."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for message in email_messages:
            self._write(message.message().as_bytes())
        return len(email_messages)

    def _write(self, content: bytes) -> None:
        handle, unfinished = tempfile.mkstemp(dir=self._folder, prefix=".unfinished-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).replace(self._folder / f"{new_id('mail')}.eml")
