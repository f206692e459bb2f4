"""The demo begins with two books that agree: what our ledger knows as refunded, the provider has refunded."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from config.demo.demo_data import build_demo_ledger, gateway_charges, gateway_refunds
from config.demo.provider_page.comparing import put_beside
from config.demo.provider_page.simulator import read_book
from config.demo.story.books import ProviderBook
from ledger.loading.loader import load_document
from ledger.models import LedgerEntry
from tests.support.gateway_simulator import GatewaySimulator

NOW = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)


@pytest.fixture
def provider(tmp_path: Path, settings: Any) -> Iterator[ProviderBook]:
    with GatewaySimulator(book=tmp_path / "book.sqlite3") as simulator:
        settings.DEMO_GATEWAY_URL = settings.STRIPE_API_BASE = simulator.url
        book = ProviderBook()
        yield book
        book._client.close()


@pytest.mark.django_db
def test_nothing_differs_before_anything_has_happened(provider: ProviderBook) -> None:
    ledger = build_demo_ledger(NOW)
    assert not load_document(ledger, now=NOW).problems
    provider.seed(gateway_charges(ledger))
    for _ in range(2):  # a book that was kept is seeded again
        provider.seed_refunds(gateway_refunds(ledger))
    beside = put_beside(read_book(), merchant_ids=None, now=NOW)
    differing = [(one.reference, one.lines) for one in beside.payments if one.differing]
    assert differing == []
    refunds = LedgerEntry.objects.filter(kind__in=["REFUND", "REVERSAL"])
    assert len(beside.payments) >= refunds.filter(kind="REFUND").count() > 3
