import pytest

from ledger.sources.http_json import HttpLedgerSource
from tests.factories import NOW
from tests.ledger.sources.reading import TIMEOUT_SECONDS
from tests.support.shop_simulator import ShopSimulator


@pytest.fixture(scope="session")
def shop_process():
    with ShopSimulator() as simulator:
        yield simulator


@pytest.fixture
def shop(shop_process):
    """A shop without orders whose clock stands where the tests' clock stands."""
    shop_process.reset()
    shop_process.set_clock(NOW)
    return shop_process


@pytest.fixture
def waits():
    """The seconds that were waited between attempts; nobody really waits."""
    return []


@pytest.fixture
def source(shop, waits):
    return HttpLedgerSource(
        base_url=shop.url, token=shop.token, timeout_seconds=TIMEOUT_SECONDS, sleep=waits.append
    )
