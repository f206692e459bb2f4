from uuid import uuid4

import pytest

from tests.api.calls import token_client
from tests.factories import make_duplicate_order


@pytest.fixture
def order(db):
    return make_duplicate_order(number="2841").order


@pytest.fixture
def api(order):
    return token_client(order.customer.user)


@pytest.fixture
def own_cache(settings):
    """Counters of this test alone: the Redis of a test run is shared by its processes."""
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": uuid4().hex}
    }
