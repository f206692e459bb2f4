"""The pages and the API as they are deployed: gunicorn processes on the test's own database."""

import http.client
import os
import socket
import subprocess
import sys
import time

from django.conf import settings

from tests.support.workers import broker_url


class Web:
    """One web process; ``call`` makes one request on a connection of its own."""

    def __init__(self, *, log):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.log = log
        command = (
            sys.executable,
            "-m",
            "gunicorn",
            "config.wsgi:application",
            "--bind",
            f"127.0.0.1:{self.port}",
        )
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                (*command, "--threads", "4", "--no-control-socket"),
                stdout=out,
                stderr=out,
                env=_environment(),
            )

    def call(self, method, path, *, body=None, headers=None, seconds=60):
        """Return status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def wait(self, *, seconds=180):
        """Return once it is alive."""
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at:
            try:
                if self.call("GET", "/livez", seconds=seconds)[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                time.sleep(0.2)
        raise TimeoutError(self.log.read_text())

    def stop(self):
        self._process.terminate()
        self._process.wait(30)


def _environment():
    database = settings.DATABASES["default"]
    who = f"{database['USER']}:{database['PASSWORD']}"
    url = f"postgresql://{who}@{database['HOST']}:{database['PORT']}/{database['NAME']}"
    return {**os.environ, "DATABASE_URL": url, "REDIS_URL": broker_url()}
