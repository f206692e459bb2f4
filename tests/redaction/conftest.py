from tests.api.conftest import own_cache  # noqa: F401 - the fixture
from tests.observability.conftest import log  # noqa: F401 - the fixture
