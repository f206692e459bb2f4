from collections.abc import Iterator

import pytest

from refunds.gateways.stripe import StripeGateway
from tests.gateways.builders import stripe_gateway_at
from tests.gateways.raw_server import RawServer
from tests.support.gateway_simulator import GatewaySimulator


@pytest.fixture(scope="session")
def simulator_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewaySimulator]:
    with GatewaySimulator(book=tmp_path_factory.mktemp("gateway") / "book.sqlite3") as simulator:
        yield simulator


@pytest.fixture
def gateway_simulator(simulator_process: GatewaySimulator) -> GatewaySimulator:
    simulator_process.reset()
    return simulator_process


@pytest.fixture
def waits() -> list[float]:
    """The seconds that the adapter would have slept between attempts of a read."""
    return []


@pytest.fixture
def stripe_gateway(gateway_simulator: GatewaySimulator, waits: list[float]) -> StripeGateway:
    return stripe_gateway_at(gateway_simulator.url, waits=waits)


@pytest.fixture
def raw_server() -> Iterator[RawServer]:
    with RawServer() as server:
        yield server
