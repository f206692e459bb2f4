import io
import json
import logging

import pytest
from django.conf import settings as deployed

from config.health import readiness
from tests.http.conftest import own_cache  # noqa: F401 - the fixture


class WrittenLog:
    """Every line as the process writes it, through the deployed formatter."""

    def __init__(self):
        self._stream = io.StringIO()
        root = logging.getLogger()
        (deployed_handler,) = [h for h in root.handlers if type(h) is logging.StreamHandler]
        self.handler = logging.StreamHandler(self._stream)
        self.handler.setFormatter(deployed_handler.formatter)

    @property
    def text(self):
        return self._stream.getvalue()

    def forget(self):
        self._stream.seek(0)
        self._stream.truncate()

    @property
    def lines(self):
        return [json.loads(line) for line in self.text.splitlines()]

    def named(self, event):
        return [line for line in self.lines if line["event"] == event]


@pytest.fixture
def log():
    """What is written while the test runs; the run's LOG_FORMAT is json."""
    assert deployed.LOGGING["handlers"]["stderr"]["formatter"] == "line"
    written, root = WrittenLog(), logging.getLogger()
    root.addHandler(written.handler)
    yield written
    root.removeHandler(written.handler)


@pytest.fixture(autouse=True)
def _looked_at_anew():
    """Let no test read what another one learned about the services."""
    readiness._until = float("-inf")
    yield
    readiness._until = float("-inf")
