import pytest

from refunds.stages.s01_authorize_request import identify_customer


@pytest.fixture
def as_customer(db):
    """Sign a customer in as the product does."""
    return lambda customer: identify_customer(user=customer.user, host="testserver", method="session")
