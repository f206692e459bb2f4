"""Where this deployment reads its ledger from."""

from ledger.sources.local_tables import LocalTables
from ledger.sources.port import LedgerSource


def ledger_source() -> LedgerSource:
    """Return the configured source; local tables are read from this database, without a network call."""
    return LocalTables()
