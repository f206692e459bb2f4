"""Numbers every boundary that the product crosses, and lets the planned faults happen there."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from tests.torture.points import CRASHES, CrashError, Fault, Kind, Point

_SQLSTATE = {Fault.SERIALIZATION_FAILURE: "40001", Fault.LOCK_TIMEOUT: "55P03"}
_TABLE = re.compile(
    r'(INSERT INTO|UPDATE|DELETE FROM|FROM)\s+"?([a-z_]+)"?|(pg_advisory\w+|SAVEPOINT|RELEASE)', re.ASCII
)
_REAL_COMMIT = BaseDatabaseWrapper._commit


class Chooser(Protocol):
    """Says which fault, if any, a boundary meets."""

    def __call__(self, point: Point) -> Fault | None: ...


def no_fault(_point: Point) -> Fault | None:
    """Let everything go well."""
    return None


class Injector:
    """The boundaries of one run. Threads that are not a worker of the run pass unnumbered."""

    def __init__(self, choose: Chooser = no_fault) -> None:
        self.choose = choose
        self.points: list[Point] = []
        self.fired: list[tuple[Point, Fault]] = []
        self.wait_for_turn: Callable[[], None] = lambda: None
        self.run_statement: Callable[..., Any] = lambda execute, *args: execute(*args)
        self._here = threading.local()
        self._lock = threading.Lock()

    @contextmanager
    def step(self, label: str) -> Iterator[None]:
        """Number what happens inside as a process of its own, which a crash ends; steps may be nested."""
        outer = self._here.__dict__.copy()
        self._here.__dict__.update(label=label, place=0, dead=False)
        try:
            with connection.execute_wrapper(self._statement):
                yield
        finally:
            crashed = self._here.dead
            self._here.__dict__.clear()
            self._here.__dict__.update(outer)
            if crashed:
                connection.close()

    @property
    def crashed(self) -> bool:
        """Say whether the process of the current step is dead."""
        return bool(getattr(self._here, "dead", False))

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Number nothing inside: what an observer asks is no part of the run."""
        label = self._here.__dict__.pop("label", None)
        try:
            yield
        finally:
            if label is not None:
                self._here.label = label

    def cross(self, kind: Kind, what: str) -> Fault | None:
        """Number one boundary, wait for this worker's turn, and return the fault that it meets."""
        if getattr(self._here, "label", None) is None:
            return None
        if self._here.dead:
            raise CrashError
        self.wait_for_turn()
        with self._lock:
            self._here.place += 1
            point = Point(len(self.points) + 1, kind, self._here.label, self._here.place, what)
            self.points.append(point)
            fault = self.choose(point)
            if fault is not None:
                self.fired.append((point, fault))
        if fault is Fault.CRASH_BEFORE:
            self.die()
        return fault

    def die(self) -> None:
        """End the process of this step: its transaction is rolled back and its connection is gone."""
        self._here.dead = True
        raw = connection.connection
        if raw is not None and not raw.closed:
            raw.rollback()  # so that its locks are gone before anybody else goes on
        connection.close()
        raise CrashError

    def commit(self, wrapper: BaseDatabaseWrapper) -> None:
        """Cross a commit; stands in for Django's own ``_commit``."""
        fault = self.cross(Kind.COMMIT, "COMMIT") if wrapper.connection is not None else None
        if fault in {Fault.CONNECTION_LOST, Fault.SERIALIZATION_FAILURE}:
            wrapper.connection.rollback()
            raise OperationalError(f"{fault} at commit, ordered by the test")
        self.run_statement(_REAL_COMMIT, wrapper)
        if fault is Fault.CRASH_AFTER:
            self.die()
        if fault is Fault.ACK_LOST:
            raise OperationalError("the connection was lost after the commit, ordered by the test")

    def _statement(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        text = sql if isinstance(sql, str) else sql.as_string(None)
        fault = self.cross(_kind(text, context["connection"]), describe(text))
        if fault in _SQLSTATE:
            return execute(_failing(_SQLSTATE[fault]), None, False, context)
        result = self.run_statement(execute, sql, params, many, context)
        if fault is Fault.CRASH_AFTER:
            self.die()
        if fault is Fault.ACK_LOST:
            raise OperationalError("the connection was lost after the statement, ordered by the test")
        return result


@contextmanager
def commits_cross(injector: Injector) -> Iterator[None]:
    """Let every commit of the product pass ``injector``."""
    # A bound method would not be given the wrapper.
    BaseDatabaseWrapper._commit = lambda wrapper: injector.commit(wrapper)  # noqa: PLW0108
    try:
        yield
    finally:
        BaseDatabaseWrapper._commit = _REAL_COMMIT


def describe(sql: str) -> str:
    """Return the verbs and tables of a statement, without values: the same for the same place in the code."""
    found = []
    for verb, table, other in _TABLE.findall(sql):
        name = other or f"{verb.split()[0]} {table}"
        if name not in found:
            found.append(name)
    lock = " FOR UPDATE" if "FOR NO KEY UPDATE" in sql or "FOR UPDATE" in sql else ""
    return ", ".join(found[:4]) + lock or sql.split(maxsplit=1)[0]


def _kind(sql: str, wrapper: Any) -> Kind:
    if wrapper.in_atomic_block:
        return Kind.SQL
    return Kind.READ if sql.lstrip().upper().startswith("SELECT") else Kind.WRITE


def _failing(sqlstate: str) -> str:
    return f"DO $$ BEGIN RAISE EXCEPTION 'ordered by the test' USING ERRCODE = '{sqlstate}'; END $$"


__all__ = ["CRASHES", "Injector", "commits_cross", "describe", "no_fault"]
