"""Pages stand still: no worker takes a request on while it is looked at."""

import pytest


@pytest.fixture(scope="package", autouse=True)
def rows(product):
    yield
    product.forget()
