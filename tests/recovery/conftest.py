import pytest

from refunds.management import foreground
from tests.journeys.desk import Desk
from tests.support.gateway_simulator import GatewaySimulator


@pytest.fixture(scope="session")
def simulator_process(tmp_path_factory):
    with GatewaySimulator(book=tmp_path_factory.mktemp("gateway") / "book.sqlite3") as simulator:
        yield simulator


@pytest.fixture
def desk(simulator_process, monkeypatch):
    """The product over a real database and the provider's simulator, which the commands speak to as well."""
    simulator_process.reset()
    desk = Desk(simulator_process)
    monkeypatch.setattr(foreground, "get_gateway", lambda: desk.gateway)
    monkeypatch.setattr(foreground, "now_utc", desk.clock)
    for command in ("recover", "reconcile"):
        monkeypatch.setattr(f"refunds.management.commands.{command}.now_utc", desk.clock)
    monkeypatch.setattr("refunds.tasks.now_utc", desk.clock)
    return desk
