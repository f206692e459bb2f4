import pytest

from tests.factories import make_duplicate_order


@pytest.fixture(autouse=True)
def _csrf_page(settings):
    settings.CSRF_FAILURE_VIEW = "refunds.customer.errors.csrf_failure"


@pytest.fixture
def order(db):
    return make_duplicate_order(number="2841").order


@pytest.fixture
def browser(client, order):
    """A browser in which the customer of the order is signed in."""
    client.force_login(order.customer.user)
    return client
