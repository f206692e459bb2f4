"""Three books that agree, and refunds of them to be changed."""

from dataclasses import replace
from datetime import timedelta

from ledger.settlements.rows import SettlementCategory, SettlementReport
from refunds.evidence.three_books.facts import OurRefund, PaymentBooks, SettledLine, Standing, TheirRefund
from refunds.gateways.port import ProviderStatus
from tests.factories import NOW

UNTIL = NOW - timedelta(days=1)
WHEN = UNTIL - timedelta(days=3)


def ours(n=1, amount=4999, **columns):
    return replace(
        OurRefund(
            operation_id=f"rfop_{n}",
            processor_reference=f"re_{n}",
            amount_minor_units=amount,
            currency="USD",
            standing=Standing.STANDS,
            state="COMPLETED",
            happened_at=WHEN,
            changed_at=WHEN,
            entry_amount_minor_units=amount,
        ),
        **columns,
    )


def theirs(n=1, amount=4999, **columns):
    return replace(
        TheirRefund(
            processor_reference=f"re_{n}",
            operation_id=f"rfop_{n}",
            amount_minor_units=amount,
            currency="USD",
            status=ProviderStatus.SUCCEEDED,
            created_at=WHEN,
        ),
        **columns,
    )


def line(n=1, amount=4999, **columns):
    return replace(
        SettledLine(
            row_reference=f"txn_{n}",
            report=SettlementReport.BALANCE_CHANGE,
            category=SettlementCategory.REFUND,
            processor_reference=f"re_{n}",
            operation_id=f"rfop_{n}",
            amount_minor_units=amount,
            currency="USD",
            booked_at=WHEN,
        ),
        **columns,
    )


def books(amounts=(4999,), **columns):
    """Return three books in which the n-th refund is of the n-th amount, everywhere."""
    numbered = list(enumerate(amounts, 1))
    return replace(
        PaymentBooks(
            payment_reference="ch_1",
            ours=tuple(ours(n, amount) for n, amount in numbered),
            theirs=tuple(theirs(n, amount) for n, amount in numbered),
            settled=tuple(line(n, amount) for n, amount in numbered),
            dispute_known=False,
            settled_since=WHEN,
            settled_until=UNTIL,
            until=UNTIL,
        ),
        **columns,
    )
