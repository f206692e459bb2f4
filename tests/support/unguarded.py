"""What PostgreSQL would not let happen, for tests of the code that must not rely on that."""

import pgtrigger


def unguarded():
    """Return a context in which operations may be decided for more than their payment has left."""
    return pgtrigger.ignore("refunds.RefundOperation:conserves_money")
