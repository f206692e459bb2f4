"""Stage 4. Retrieve order and payment records.

Input: an order of the customer's own.
Output: a normalised, access-controlled snapshot of its charges, refunds and disputes, in minor units.
Failure destination: the source cannot be read -> the request keeps waiting and is read again later.
"""

from datetime import datetime

from ledger.snapshot import LedgerSnapshot
from ledger.sources.port import SourceUnavailable
from refunds.evidence.source import ledger_source
from refunds.models import RefundWorkflow


def retrieve_payments(*, workflow: RefundWorkflow, now: datetime) -> LedgerSnapshot | SourceUnavailable:
    """Read the order's money, scoped by tenant and customer. Runs outside any transaction."""
    return ledger_source().read_order(
        merchant_id=workflow.merchant_id,
        customer_id=workflow.customer_id,
        order_id=workflow.order_id,
        now=now,
    )
