"""What probes and monitoring ask: ``/livez``, ``/readyz`` and ``/metrics``, before any check of host or scheme.

They speak plain HTTP to the address of the process, sign in nowhere and leave no line in the log. Strangers learn one
word; what is wrong, and every number, is for this machine and for holders of ``METRICS_TOKEN``.
"""

import hmac
import ipaddress
import time
from collections.abc import Callable
from typing import Any, Final

import psycopg
import redis
from django.conf import settings
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import split_domain_port
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from ledger.clock import now_utc
from refunds.metrics.collector import DeskCollector
from refunds.metrics.counters import IN_PROCESS

GetResponse = Callable[[HttpRequest], HttpResponse]
_TIMEOUT_SECONDS: Final = 2
_REMEMBERED_SECONDS: Final = 1.0
_SIGNS_OF_A_PROXY: Final = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA")
_NAMES_OF_THIS_MACHINE: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_FROM_ROWS: Final = CollectorRegistry()
_FROM_ROWS.register(DeskCollector(clock=now_utc))


class Readiness:
    """Whether this process can serve, looked at no more than once a second: anybody may ask."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until, self._parts = float("-inf"), dict[str, str]()

    def parts(self) -> dict[str, str]:
        """Return each part with one word: ``ok``, or what is wrong with it."""
        if self._clock() >= self._until:
            self._parts = {**_database_parts(), "redis": _redis_part()}
            self._until = self._clock() + _REMEMBERED_SECONDS
        return self._parts

    @staticmethod
    def is_ready(parts: dict[str, str]) -> bool:
        """Say whether requests can be served. Without Redis they can: work only waits for the scanners."""
        return parts["database"] == parts["migrations"] == "ok"


readiness = Readiness()


class ProbeMiddleware:
    """Answers the three addresses and passes everything else on."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a probe, or pass the request on."""
        answer = _PROBES.get(request.path)
        if answer is None:
            return self.get_response(request)
        if request.method not in {"GET", "HEAD"}:
            return JsonResponse({"status": "method_not_allowed"}, status=405, headers={"Allow": "GET, HEAD"})
        response = answer(request)
        response.headers["Cache-Control"] = "no-store"
        response.headers["Content-Length"] = str(len(response.content))
        return response


def livez(_request: HttpRequest) -> HttpResponse:
    """Answer 200: this process answers. It asks nothing else, so that no outage elsewhere restarts it."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 when the database answers and is migrated, else 503."""
    parts = readiness.parts()
    ready = readiness.is_ready(parts)
    body = {"status": "ready" if ready else "unready"}
    return JsonResponse(body | (parts if is_trusted(request) else {}), status=200 if ready else 503)


def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with every number in Prometheus' text format; 403 for strangers."""
    if not is_trusted(request):
        return JsonResponse({"status": "forbidden"}, status=403)
    body = generate_latest(_FROM_ROWS) + generate_latest(IN_PROCESS)
    return HttpResponse(body, content_type=CONTENT_TYPE_LATEST)


_PROBES: Final[dict[str, Callable[[HttpRequest], HttpResponse]]] = {
    "/livez": livez,
    "/readyz": readyz,
    "/metrics": metrics,
}


def is_trusted(request: HttpRequest) -> bool:
    """Say whether the caller may see inside: with the token where there is one, else from this machine alone."""
    token: str = settings.METRICS_TOKEN
    if token:
        sent = request.META.get("HTTP_AUTHORIZATION", "")
        return hmac.compare_digest(sent.encode("utf-8", "replace"), f"Bearer {token}".encode())
    return _asks_this_machine_directly(request)


def _asks_this_machine_directly(request: HttpRequest) -> bool:
    """Say whether a program of this machine asks: what a proxy passes on comes from loopback too, for anybody."""
    if any(header in request.META for header in _SIGNS_OF_A_PROXY):
        return False
    name, _ = split_domain_port(request.META.get("HTTP_HOST", ""))
    return name in _NAMES_OF_THIS_MACHINE and _is_loopback(request.META.get("REMOTE_ADDR", ""))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _database_parts() -> dict[str, str]:
    """Ask over a connection of its own: pages that use up the pool say nothing about the database."""
    try:
        with psycopg.connect(**_connection_options()) as database:
            applied = set(database.execute("SELECT app, name FROM django_migrations").fetchall())
    except psycopg.errors.UndefinedTable:
        return {"database": "ok", "migrations": "pending"}
    except (psycopg.Error, OSError):
        return {"database": "unreachable", "migrations": "unknown"}
    return {"database": "ok", "migrations": "ok" if applied >= _newest_migrations() else "pending"}


def _connection_options() -> dict[str, Any]:
    database = connections["default"].settings_dict
    options = {name: value for name, value in database["OPTIONS"].items() if name != "pool"}
    return {
        **options,
        "host": database["HOST"] or None,
        "port": database["PORT"] or None,
        "user": database["USER"] or None,
        "password": database["PASSWORD"] or None,
        "dbname": database["NAME"],
        "connect_timeout": _TIMEOUT_SECONDS,
        "options": f"-c statement_timeout={1000 * _TIMEOUT_SECONDS}",
        "autocommit": True,
    }


def _newest_migrations() -> set[tuple[str, str]]:
    """Return the last migrations of every app, as this version of the program brings them."""
    if not _newest:
        _newest.update(MigrationLoader(None).graph.leaf_nodes())
    return _newest


_newest: set[tuple[str, str]] = set()


def _redis_part() -> str:
    url = settings.CELERY_BROKER_URL.replace("redis+socket://", "unix://", 1)
    try:
        with redis.Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5) as server:
            server.ping()
    except (redis.RedisError, OSError, ValueError):
        return "unreachable"
    return "ok"
