"""Reads every number in one short read-only look at the database, with a fixed number of queries."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import DatabaseError, InterfaceError, connection, transaction
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from refunds.gateways.registry import get_contract
from refunds.metrics.readings import OTHER, READINGS, Reading
from refunds.proposers.breaker import BreakerState
from refunds.proposers.registry import breaker_state
from refunds.selectors.model_qualifications import evaluated_endpoints

_MOST_MILLISECONDS: Final = 2000
_MOST_JOBS: Final = 40
_JOB: Final = re.compile(r"[a-z][a-z_]{0,39}")  # names that code gives; nothing else becomes a label
_MODEL: Final = re.compile(r"[\w.:/@+\-]{1,120}", re.ASCII)
_BREAKER_VALUES: Final = {BreakerState.CLOSED: 0.0, BreakerState.HALF_OPEN: 1.0, BreakerState.OPEN: 2.0}
_HEARTBEATS: Final = "SELECT name, extract(epoch FROM %s - beat_at) FROM heartbeats ORDER BY name LIMIT %s"

Row = Sequence[Any]


class DeskCollector(Collector):
    """A database that is away, or too slow, costs the numbers and nothing else."""

    def __init__(self, *, clock: Callable[[], datetime]) -> None:
        self._clock = clock

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return nothing, so that registering asks no database."""
        return []

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return every family; ``scrape_complete`` is 0, and alone, when the database did not answer in time."""
        try:
            families = _read(self._clock())
        except (DatabaseError, InterfaceError):
            families = []
        meaning = "Whether the database answered this scrape in time."
        return [*families, _gauge("scrape_complete", meaning, [((), 1.0 if families else 0.0)])]


def _read(now: datetime) -> list[GaugeMetricFamily]:
    families: list[GaugeMetricFamily] = []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {_MOST_MILLISECONDS}")
        for reading in READINGS:
            cursor.execute(reading.sql, [now - ago for ago in reading.ago])
            families += _families(reading, cursor.fetchall())
        cursor.execute(_HEARTBEATS, [now, _MOST_JOBS])
        families.append(_heartbeats(cursor.fetchall()))
        endpoints = evaluated_endpoints()
    families.append(_breakers(endpoints))
    families.append(_contract_review(now))
    return families


def _families(reading: Reading, rows: Iterable[Row]) -> Iterator[GaugeMetricFamily]:
    """Return one family for each number; every known label is there, whatever the rows hold."""
    keys = [(str(value),) for value in (*reading.values, OTHER)] if reading.label else [()]
    found: dict[tuple[str, ...], list[float]] = {key: [0.0] * len(reading.numbers) for key in keys}
    for row in rows:
        label, numbers = ((row[0],), row[1:]) if reading.label else ((), row)
        for place, number in enumerate(numbers):
            found[label if label in found else (OTHER,)][place] += max(float(number or 0), 0.0)
    labels = [reading.label] if reading.label else []
    for place, (name, meaning) in enumerate(reading.numbers):
        yield _gauge(name, meaning, [(key, found[key][place]) for key in sorted(found)], labels=labels)


def _heartbeats(rows: Iterable[Row]) -> GaugeMetricFamily:
    ages = [((name,), float(age)) for name, age in rows if _JOB.fullmatch(name)]
    return _gauge(
        "heartbeat_age_seconds", "How long ago a recurring job ran to its end.", ages, labels=["name"]
    )


def _breakers(endpoints: Iterable[tuple[str, str]]) -> GaugeMetricFamily:
    """One series for each model that an operator had evaluated; none while Redis does not say."""
    states = [
        ((model,), _BREAKER_VALUES[state])
        for model, endpoint in endpoints
        if _MODEL.fullmatch(model)
        and (state := breaker_state(endpoint_sha256=endpoint, model=model)) is not None
    ]
    meaning = "Whether a model is asked: 0 it is, 1 a few times to find out, 2 it is left alone."
    return _gauge("model_breaker_state", meaning, states, labels=["model"])


def _contract_review(now: datetime) -> GaugeMetricFamily:
    """Below zero nothing is proven absent and nothing is sent again: somebody reads the provider's pages first."""
    left = (get_contract().review_ends - now).total_seconds()
    meaning = "How long the review of the payment provider's record still counts."
    return _gauge("provider_contract_review_seconds", meaning, [((), left)])


def _gauge(
    name: str,
    meaning: str,
    values: Iterable[tuple[tuple[str, ...], float]],
    *,
    labels: Sequence[str] = (),
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"refund_desk_{name}", meaning, labels=labels)
    for key, value in values:
        family.add_metric(key, value)
    return family
