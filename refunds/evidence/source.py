"""Where this deployment reads its ledger from."""

from ledger.sources.local_tables import LocalTables
from ledger.sources.port import LedgerSource


def local_source() -> LedgerSource:
    """Return the source that may be read inside a transaction, since it makes no network call."""
    return LocalTables()


def ledger_source() -> LedgerSource:
    """Return the configured source; local tables are read from this database, without a network call."""
    return LocalTables()
