"""When an operation that people own is looked up again: its refund may show up at the provider on its own. Pure.

The wait grows with the time that the operation has lain there, and ends where the provider's own changes end. Such a
look only ever finds a refund; that there is none is for people to say.
"""

from datetime import datetime, timedelta
from typing import Final

from refunds.gateways.contract import ProviderContract

LONGEST_WAIT: Final = timedelta(days=1)
USUAL_HORIZON: Final = timedelta(days=30)  # operator decision, for a provider that states none


def late_horizon(contract: ProviderContract) -> timedelta:
    """Return for how long the provider may still change a refund after it was made."""
    stated = contract.status_words.late_failure_horizon_seconds.value
    return USUAL_HORIZON if stated is None else timedelta(seconds=stated)


def next_late_check(*, since: datetime, now: datetime, contract: ProviderContract) -> datetime | None:
    """Return when to look next at an operation that people have had ``since``, or None after the last look.

    As long as it has lain there already, but no shorter than the contract's longest wait and no longer than a day:
    with Stripe's 30 days some 35 looks in all, far within the reads that its contract allows for one payment.
    """
    age = now - since
    wait = max(contract.reconciliation_intervals[-1], min(age, LONGEST_WAIT))
    return now + wait if age + wait <= late_horizon(contract) else None
