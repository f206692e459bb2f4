"""The invariant scoreboard's page."""

import pytest

from refunds.selectors.invariant_checks import CHECKS
from refunds.states import OperationState
from tests.console.conftest import superuser
from tests.factories import add_attempt, operation_in_state

pytestmark = pytest.mark.django_db
ADDRESS = "/admin/review/scoreboard/"


def test_a_superuser_sees_every_invariant_and_what_breaks_it(client):
    client.force_login(superuser())
    page = client.get(ADDRESS)
    assert page.status_code == 200
    assert f"All {len(CHECKS)} invariants hold." in page.text
    assert all(check.name in page.text for check in CHECKS)
    operation = operation_in_state(OperationState.CREATED)
    add_attempt(operation)
    broken = client.get(ADDRESS).text
    assert f"1 of {len(CHECKS)} invariants do not hold." in broken
    assert operation.pk in broken
    assert "<strong>broken</strong>" in broken
    assert ADDRESS in client.get("/admin/").text


def test_it_shows_rows_of_every_merchant_so_nobody_else_sees_it(client, as_reviewer):
    assert as_reviewer.get(ADDRESS).status_code == 403
    assert ADDRESS not in as_reviewer.get("/admin/").text
    as_reviewer.logout()
    assert as_reviewer.get(ADDRESS).status_code == 302
