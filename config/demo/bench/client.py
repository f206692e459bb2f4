"""A very small HTTP client, so that asking costs the machine little: kept connections, JSON in and out."""

import asyncio
import json
from typing import Any

from config.demo.services import ports

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Client:
    """Keeps connections to one port of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._free: list[Connection] = []

    async def call(self, method: str, path: str, payload: Any = None, *, token: str = "") -> tuple[int, Any]:
        """Return status and body. A kept connection that the server closed is replaced once."""
        body = b"" if payload is None else json.dumps(payload).encode()
        who = f"Authorization: Token {token}\r\n" if token else ""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {ports.HOST}:{self.port}\r\n{who}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        while True:
            kept = bool(self._free)
            connection = self._free.pop() if kept else await asyncio.open_connection(ports.HOST, self.port)
            try:
                return await self._exchange(connection, head.encode() + body)
            except (asyncio.IncompleteReadError, ConnectionError):
                connection[1].close()
                if not kept:
                    raise

    async def _exchange(self, connection: Connection, request: bytes) -> tuple[int, Any]:
        reader, writer = connection
        writer.write(request)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        if headers.get("connection") == "close":
            writer.close()
        else:
            self._free.append(connection)
        return int(lines[0].split()[1]), json.loads(body) if body else None
