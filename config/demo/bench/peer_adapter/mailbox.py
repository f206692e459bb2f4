"""A mail server that keeps nothing: it reads which request a message is about."""

import asyncio
import contextlib
import email
import re
from collections.abc import Awaitable, Callable
from typing import Final

_REFERENCE: Final = re.compile(r"RF-[0-9A-Z]{4}-[0-9A-Z]{4}")
_END: Final = b"\r\n.\r\n"


def receiving(
    told: Callable[[str], None],
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """Return an SMTP connection's loop; ``told`` gets each reference of a message that was taken."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 adapter\r\n")
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while line := await reader.readline():
                word = line.strip().upper()
                if word == b"DATA":
                    writer.write(b"354 go on\r\n")
                    for reference in references_in(await reader.readuntil(_END)):
                        told(reference)
                writer.write(_answer(word))
                await writer.drain()
                if word == b"QUIT":
                    break
        writer.close()

    return serve


def references_in(message: bytes) -> set[str]:
    """Return the references that a message names, in whatever encoding its parts have."""
    parts = email.message_from_bytes(message).walk()
    bodies = [part.get_payload(decode=True) for part in parts]
    text = b" ".join([message, *(body for body in bodies if isinstance(body, bytes))])
    return set(_REFERENCE.findall(text.decode(errors="replace")))


def _answer(word: bytes) -> bytes:
    if word.startswith(b"EHLO"):
        return b"250-adapter\r\n250-SMTPUTF8\r\n250 8BITMIME\r\n"
    return b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n"
