import pytest

from tests.api.calls import token_client
from tests.factories import make_duplicate_order


@pytest.fixture
def order(db):
    return make_duplicate_order(number="2841").order


@pytest.fixture
def api(order):
    return token_client(order.customer.user)
