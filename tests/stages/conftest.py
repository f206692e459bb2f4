import pytest

from refunds.states import OperationState
from tests.factories import operation_in_state


@pytest.fixture
def operation():
    """An operation that may be sent and was not."""
    return operation_in_state(OperationState.CREATED)
