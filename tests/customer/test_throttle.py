import pytest
from django.test import override_settings

from refunds.models import RefundWorkflow
from tests.factories import make_customer, make_order

pytestmark = pytest.mark.django_db


@pytest.mark.failure("F102")
@pytest.mark.parametrize("address", ["/support/", "/support/check/"])
def test_a_customer_who_asks_too_often_is_told_to_wait_and_nothing_is_stored(client, address):
    customer = make_customer()
    order = make_order(customer=customer)
    client.force_login(customer.user)
    form = {
        "message": "I was charged twice.",
        "order": "other",
        "other_order": order.number,
        "client_token": "",
    }
    with override_settings(NEW_REQUESTS_PER_MINUTE=0):
        answer = client.post(address, form, headers={"X-Forwarded-For": "198.51.100.7"})

    assert answer.status_code == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert b"Too many attempts" in answer.content
    assert RefundWorkflow.objects.count() == 0
    assert client.get("/support/").status_code == 200
