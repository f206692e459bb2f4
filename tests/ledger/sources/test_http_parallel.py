"""Several workers that read one order at once: every one gets an answer, and each fact lands once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from ledger.models import LedgerEntry, Payment
from ledger.snapshot import LedgerSnapshot
from tests.factories import make_order, make_payment
from tests.ledger.sources.reading import read
from tests.support.shop_simulator import order_document


@pytest.mark.django_db(transaction=True)
def test_a_new_charge_lands_once_however_many_read_it(shop, source):
    order = make_order()
    make_payment(order=order)
    shop.mirror(order)
    charge = order_document(order)["payments"][0]
    entry = charge["entries"][0] | {"reference": "ch_new"}
    shop.add_payment(order, charge | {"reference": "ch_new", "entries": [entry]})

    def work(_number):
        try:
            return read(source, order)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(work, range(6)))

    assert all(isinstance(snapshot, LedgerSnapshot) for snapshot in found)
    assert len({snapshot.facts_sha256() for snapshot in found}) == 1
    assert (Payment.objects.count(), LedgerEntry.objects.count()) == (2, 2)
