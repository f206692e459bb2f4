"""Where this deployment reads its ledger from."""

from datetime import datetime
from functools import cache

from django.conf import settings

from ledger.snapshot import LedgerSnapshot
from ledger.sources.http_json import HttpLedgerSource
from ledger.sources.local_tables import LocalTables
from ledger.sources.port import LedgerSource


def local_source() -> LedgerSource:
    """Return the source that may be read inside a transaction, since it makes no network call."""
    return LocalTables()


def held_charges(*, order_id: int, now: datetime) -> LedgerSnapshot:
    """Return an order with its money as this database holds it, whosever it is. Raises ``OrderMissingError``."""
    return LocalTables().read_charges(order_id=order_id, now=now)


def ledger_source() -> LedgerSource:
    """Return the configured source: over HTTP if LEDGER_SOURCE_URL names one, else this database's own tables.

    It may use the network, so it is read outside any transaction.
    """
    if not settings.LEDGER_SOURCE_URL:
        return LocalTables()
    return _http_source(
        settings.LEDGER_SOURCE_URL, settings.LEDGER_SOURCE_TOKEN, settings.LEDGER_SOURCE_TIMEOUT_SECONDS
    )


@cache
def _http_source(base_url: str, token: str, timeout_seconds: float) -> LedgerSource:
    """One for each address; what is costly to make about it is its TLS context."""
    return HttpLedgerSource(base_url=base_url, token=token, timeout_seconds=timeout_seconds)
