import pytest

from tests.torture.beat import load_scanners
from tests.torture.database import Observer


@pytest.fixture
def observer(transactional_db):
    """A session beside the product's, over this test's database."""
    load_scanners()
    watching = Observer()
    yield watching
    watching.empty()
    watching.close()
