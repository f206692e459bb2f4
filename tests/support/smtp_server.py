"""A small SMTP server that answers each command as a test scripts it."""

import socketserver
import threading
from contextlib import contextmanager


class _Session(socketserver.StreamRequestHandler):
    def handle(self):
        replies = self.server.replies
        self._say(replies.get("CONNECT", "220 ready"))
        while line := self.rfile.readline().decode().strip():
            verb = line.split(":")[0].split(" ")[0].upper()
            self.server.commands.append(line)
            reply = replies.get(verb, "354 go on" if verb == "DATA" else "250 fine")
            if reply == "HANG":
                self.server.released.wait(20)
                return
            if reply == "DROP":
                return
            self._say(reply)
            if verb == "QUIT":
                return
            if verb == "DATA" and reply.startswith("354"):
                self._read_message()

    def _read_message(self):
        lines = []
        while (line := self.rfile.readline()) not in {b".\r\n", b""}:
            lines.append(line)
        self.server.messages.append(b"".join(lines))
        self._say(self.server.replies.get("MESSAGE", "250 taken"))

    def _say(self, reply):
        if reply != "DROP":
            self.wfile.write(f"{reply}\r\n".encode())


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


@contextmanager
def smtp_server(**replies):
    """Yield a running server with ``port``, ``commands`` and ``messages``; replies are by verb, and MESSAGE."""
    with _Server(("127.0.0.1", 0), _Session) as server:
        server.replies, server.commands, server.messages = replies, [], []
        server.released = threading.Event()
        server.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()
