from uuid import uuid4

import pytest


@pytest.fixture
def own_cache(settings):
    """Counters of this test alone: the Redis of a test run is shared by its processes."""
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": uuid4().hex}
    }
