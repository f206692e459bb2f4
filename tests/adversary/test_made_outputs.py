"""Outputs that hypothesis makes, through the real stages."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.adversary.cases import ASKS_A_MODEL, AUTOMATIC
from tests.adversary.desk import run
from tests.adversary.made_outputs import made_outputs
from tests.adversary.models import Saying
from tests.adversary.money import differences

# Each example leaves the case as it found it.
SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.mark.parametrize("verified", [AUTOMATIC], indirect=True)
@settings(max_examples=40, deadline=None, suppress_health_check=SHARED)
@given(text=made_outputs)
def test_no_made_output_touches_the_money(verified, text):
    assert differences(verified.honest(), run(verified, Saying(text)).money) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("verified", ASKS_A_MODEL, indirect=True)
@settings(max_examples=1000, deadline=None, suppress_health_check=SHARED)
@given(text=made_outputs, again=made_outputs)
def test_no_two_made_outputs_touch_the_money(verified, text, again):
    assert differences(verified.honest(), run(verified, Saying(text, again)).money) == []
