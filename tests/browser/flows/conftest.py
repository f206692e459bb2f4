"""Journeys need somebody who does the work: workers and beat run for all of them."""

import pytest


@pytest.fixture(scope="package", autouse=True)
def workers(product):
    product.start_workers()
    yield
    product.stop_workers()
    product.forget()
