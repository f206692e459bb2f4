import pytest

from tests.failures.web import Web
from tests.journeys.desk import Desk
from tests.support.asked_model import asked_model
from tests.support.gateway_simulator import GatewaySimulator
from tests.support.model_simulator import ModelSimulator


@pytest.fixture(scope="session")
def simulator_process(tmp_path_factory):
    with GatewaySimulator(book=tmp_path_factory.mktemp("gateway") / "book.sqlite3") as simulator:
        yield simulator


@pytest.fixture
def desk(simulator_process):
    """The product over a real database and the provider's simulator, with a clock that the test moves."""
    simulator_process.reset()
    return Desk(simulator_process)


@pytest.fixture(scope="session")
def running_model(tmp_path_factory):
    with ModelSimulator(book=tmp_path_factory.mktemp("model") / "book.sqlite3") as simulator:
        yield simulator


@pytest.fixture
def model(running_model, settings, transactional_db):
    """The model's simulator, which this process asks; a test arms what goes wrong."""
    with asked_model(running_model, settings):
        yield running_model


@pytest.fixture
def web(transactional_db, tmp_path):
    """The pages and the API in a process of their own."""
    running = Web(log=tmp_path / "web.log")
    try:
        running.wait()
        yield running
    finally:
        running.stop()
