import pytest

from tests.journeys.desk import Desk
from tests.support.gateway_simulator import GatewaySimulator


@pytest.fixture(scope="session")
def simulator_process(tmp_path_factory):
    with GatewaySimulator(book=tmp_path_factory.mktemp("gateway") / "book.sqlite3") as simulator:
        yield simulator


@pytest.fixture
def desk(simulator_process):
    """The product over a real database and the provider's simulator."""
    simulator_process.reset()
    return Desk(simulator_process)
