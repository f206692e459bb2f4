"""Reading an order from a source, and what must not have changed when nothing landed."""

from django.contrib.auth.models import User

from ledger.models import Customer, LedgerEntry, Merchant, Order, Payment
from tests.factories import NOW

TIMEOUT_SECONDS = 5.0


def read(source, order, *, now=NOW, **over):
    ids = {"merchant_id": order.merchant_id, "customer_id": order.customer_id, "order_id": order.pk}
    return source.read_order(now=now, **(ids | over))


def failed(source, order, **over):
    """Read, and return how it failed: kind, detail, attempts."""
    found = read(source, order, **over)
    return found.kind.value, found.detail, found.attempts


def rows():
    """Every fact that a source could have touched."""
    models = (User, Merchant, Customer, Order, Payment, LedgerEntry)
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}
