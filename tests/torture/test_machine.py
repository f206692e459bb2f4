"""A bounded run of the state machine; ``make torture`` plays schedules, this one looks for the shortest wrong one."""

import logging

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.torture.machine import Desk


@pytest.fixture
def _quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("_quiet")
def test_whatever_happens_the_article_holds(observer):
    machine = type("BoundDesk", (Desk,), {"observer": observer})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12,
            stateful_step_count=18,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
