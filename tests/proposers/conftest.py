import pytest

from tests.support.model_simulator import ModelSimulator


@pytest.fixture(scope="session")
def running_model(tmp_path_factory):
    with ModelSimulator(book=tmp_path_factory.mktemp("model") / "book.sqlite3") as simulator:
        yield simulator


@pytest.fixture
def simulator(running_model):
    running_model.reset()
    return running_model
