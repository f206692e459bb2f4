"""Which provider is asked: the simulator, or CONFORMANCE_BASE_URL with CONFORMANCE_API_KEY (a test key)."""

import os
import secrets
from collections.abc import Callable, Iterator

import pytest

from tests.conformance.provider import Provider
from tests.support.gateway_simulator import GatewaySimulator


@pytest.fixture(scope="session")
def any_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    url, key = os.environ.get("CONFORMANCE_BASE_URL", ""), os.environ.get("CONFORMANCE_API_KEY", "")
    if not url:
        with GatewaySimulator(book=tmp_path_factory.mktemp("gateway") / "book.sqlite3") as simulator:
            yield Provider(simulator.url, simulator.api_key, simulator)
        return
    if not key.startswith(("sk_test_", "rk_test_")):
        pytest.exit("CONFORMANCE_API_KEY must be a test key: the suite pays and refunds", returncode=2)
    yield Provider(url, key, None)


@pytest.fixture
def provider(any_provider: Provider) -> Iterator[Provider]:
    if any_provider.simulator is not None:
        any_provider.simulator.reset()
    yield any_provider
    if any_provider.simulator is not None:
        any_provider.simulator.reset()


@pytest.fixture
def new_key() -> Callable[[], str]:
    """Keys that no other run used: at another provider they last for a day."""
    return lambda: f"conformance-{secrets.token_hex(16)}"
