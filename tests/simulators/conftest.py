from collections.abc import Iterator

import pytest

from tests.support.gateway_simulator import GatewaySimulator


@pytest.fixture(scope="session")
def simulator_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewaySimulator]:
    with GatewaySimulator(book=tmp_path_factory.mktemp("gateway") / "book.sqlite3") as simulator:
        yield simulator


@pytest.fixture
def gateway_simulator(simulator_process: GatewaySimulator) -> GatewaySimulator:
    simulator_process.reset()
    return simulator_process
