import pytest

from tests.adversary.cases import new_case
from tests.adversary.ids import counted_ids


@pytest.fixture
def ids():
    with counted_ids() as counted:
        yield counted


@pytest.fixture
def case(request, db, ids):
    """One of the seeded cases, by its name."""
    return new_case(request.param, ids)


@pytest.fixture
def verified(request, db, ids):
    """Likewise, with its evidence established: the model's turn comes next."""
    case = new_case(request.param, ids)
    case.verify()
    return case
