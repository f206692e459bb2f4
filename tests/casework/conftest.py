import pytest

from tests.casework.staff import charge_of
from tests.factories import make_merchant, make_policy, make_staff


@pytest.fixture
def merchant(db):
    merchant = make_merchant(name="Northwind")
    make_policy(merchant=merchant)
    return merchant


@pytest.fixture
def starter(merchant):
    return make_staff(merchant=merchant)


@pytest.fixture
def colleague(merchant):
    return make_staff(merchant=merchant)


@pytest.fixture
def charge(merchant):
    return charge_of(merchant)
