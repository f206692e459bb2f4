"""Every order of the demo can be read from the demo's shop, whose times are ages, and on kept data too."""

from datetime import timedelta

import pytest

from config.demo.demo_data import DATA, build_demo_ledger
from ledger.clock import now_utc
from ledger.loading.loader import load_document
from ledger.models import Order
from ledger.snapshot import LedgerSnapshot
from ledger.sources.http_json import HttpLedgerSource
from ledger.sources.local_tables import LocalTables
from tests.support.shop_simulator import ShopSimulator

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_shop_says_what_was_loaded_at_a_start_three_weeks_ago():
    now = now_utc()
    report = load_document(build_demo_ledger(now - timedelta(weeks=3)), now=now)
    assert not report.problems

    with ShopSimulator(book=DATA) as shop:
        source = HttpLedgerSource(base_url=shop.url, token=shop.token, timeout_seconds=5)
        for order in Order.objects.order_by("pk"):
            asked = {"merchant_id": order.merchant_id, "customer_id": order.customer_id, "order_id": order.pk}
            held = LocalTables().read_order(**asked, now=now)
            read = source.read_order(**asked, now=now_utc())

            assert isinstance(read, LedgerSnapshot), f"#{order.number}: {read}"
            assert read.order == held.order, order.number
