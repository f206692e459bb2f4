"""The SMTP side: aiosmtpd's server, with a fault at each stage if one is armed (RFC 5321)."""

import asyncio
import contextlib
import threading
from datetime import UTC, datetime
from typing import Any, Final

from aiosmtpd.smtp import SMTP, Envelope, Session

from config.demo.mail_simulator.faults import Fault, FaultKind, Faults, Stage
from config.demo.mail_simulator.mailbox import Mailbox

HOST: Final = "127.0.0.1"
_TEXTS: Final = {FaultKind.TEMPORARY: "try again later", FaultKind.REJECTED: "no"}
_LINGER_SECONDS: Final = 60.0
_CLOSES: Final = 421  # "service not available, closing transmission channel" (RFC 5321, 4.2.3)


class Clerk:
    """Decides at each stage what the server says; None means the usual reply."""

    def __init__(self, *, faults: Faults, mailbox: Mailbox) -> None:
        self.log: list[dict[str, Any]] = []
        self._faults = faults
        self._mailbox = mailbox

    async def handle_MAIL(  # noqa: N802 - named by aiosmtpd
        self, server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Answer MAIL FROM."""
        reply = await self.at(Stage.MAIL, server, [])
        if reply is None:
            envelope.mail_from = address
            envelope.mail_options.extend(options)
        return reply or "250 OK"

    async def handle_RCPT(  # noqa: N802 - named by aiosmtpd
        self, server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Answer RCPT TO."""
        reply = await self.at(Stage.RCPT, server, [address])
        if reply is None:
            envelope.rcpt_tos.append(address)
            envelope.rcpt_options.extend(options)
        return reply or "250 OK"

    async def handle_DATA(self, server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        """Answer a whole message: it is kept unless the reply says no."""
        recipients = [str(one) for one in envelope.rcpt_tos]
        content = envelope.original_content or b""

        def keep() -> None:
            self._mailbox.keep(content, sender=str(envelope.mail_from or ""), recipients=recipients)

        fault = self._take(Stage.DATA, recipients)
        if fault is not None and fault.kind is FaultKind.DROP_AFTER_DATA:
            keep()
        reply = await _act(fault, server)
        if reply is None:
            keep()
        return reply or "250 OK"

    async def handle_QUIT(self, server: SMTP, _session: Session, _envelope: Envelope) -> str:  # noqa: N802
        """Answer QUIT."""
        return await self.at(Stage.QUIT, server, []) or "221 Bye"

    async def at(self, stage: Stage, server: SMTP, recipients: list[str]) -> str | None:
        """Do what is armed for a stage and return the reply, if it is not the usual one."""
        return await _act(self._take(stage, recipients), server)

    def _take(self, stage: Stage, recipients: list[str]) -> Fault | None:
        fault = self._faults.take(stage, [one.lower() for one in recipients])
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        kind = fault.kind if fault is not None else None
        self.log.append({"at": at, "stage": stage, "recipients": recipients, "fault": kind})
        return fault


class Server(SMTP):
    """One connection."""

    def __init__(self, clerk: Clerk, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(clerk, enable_SMTPUTF8=True, ident="mail_simulator", hostname="localhost", loop=loop)
        self._clerk = clerk

    async def _handle_client(self) -> None:
        """Greet, or do what is armed instead."""
        reply = await self._clerk.at(Stage.CONNECT, self, [])
        if reply is None:
            await super()._handle_client()
            return
        await self.push(reply)
        _close(self)


class MailServer:
    """Listens in a thread of its own; ``shut`` refuses connections until ``open`` on the same port."""

    def __init__(self, port: int, clerk: Clerk) -> None:
        """Bind; raises OSError or OverflowError."""
        self.port = port
        self._clerk = clerk
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="smtp", daemon=True)
        self._thread.start()
        self._listening: asyncio.Server | None = None
        self.open()

    @property
    def is_open(self) -> bool:
        """Whether connections are accepted."""
        return self._listening is not None

    def open(self) -> None:
        """Listen, if it does not yet."""
        self._in_loop(self._open())

    def shut(self) -> None:
        """Refuse new connections."""
        self._in_loop(self._shut())

    def stop(self) -> None:
        """End everything; connections are closed."""
        self.shut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    async def _open(self) -> None:
        if self._listening is None:
            self._listening = await self._loop.create_server(
                lambda: Server(self._clerk, self._loop), HOST, self.port
            )
            self.port = self._listening.sockets[0].getsockname()[1]

    async def _shut(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None

    def _in_loop(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)


async def _act(fault: Fault | None, server: SMTP) -> str | None:
    """Do what the fault says; return the reply that it gives, None for the usual one."""
    match fault.kind if fault is not None else None:
        case (FaultKind.TEMPORARY | FaultKind.REJECTED) as kind if fault is not None:
            if fault.code == _CLOSES:
                # After the reply, which is written before anything else can run.
                asyncio.get_running_loop().call_soon(_close, server)
            return f"{fault.code} {_TEXTS[kind]}"
        case FaultKind.HANG if fault is not None:
            await asyncio.sleep(fault.seconds)
        case FaultKind.DROP | FaultKind.DROP_AFTER_DATA:
            _close(server)
            # The end of the connection cancels this task; nothing more is said.
            await asyncio.sleep(_LINGER_SECONDS)
    return None


def _close(server: SMTP) -> None:
    with contextlib.suppress(OSError):
        if server.transport is not None:
            server.transport.close()
