"""A Redis that takes connections and never says a word."""

import socket
import threading
from contextlib import contextmanager


@contextmanager
def hanging_redis():
    """Yield its URL, and a list that grows with every connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    taken = []

    def accept():
        while True:
            try:
                taken.append(listener.accept()[0])
            except OSError:
                return

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0", taken
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in taken:
            connection.close()
        thread.join(5)
