import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext

from refunds import pipeline
from refunds.stages.s01_authorize_request import (
    NotACustomerError,
    OrderNotFoundError,
    SignedIn,
    authorize_request,
    identify_customer,
)
from tests.factories import NOW, make_customer, make_merchant, make_order, make_user
from tests.stages.trail import nothing_written

pytestmark = pytest.mark.django_db


def identify(user, host="desk.example.com"):
    return identify_customer(user=user, host=host, method="session")


def test_a_signed_in_customer_has_a_tenant_a_scope_and_allowed_actions():
    customer = make_customer()
    signed_in = identify(customer.user)
    assert signed_in == SignedIn(
        user_id=customer.user_id,
        customer_id=customer.pk,
        merchant_id=customer.merchant_id,
        scope=("refund_requests:own",),
        allowed_actions=("issue_refund", "ask_person"),
        method="session",
    )
    assert signed_in.as_evidence() == {
        "user_id": customer.user_id,
        "customer_id": customer.pk,
        "merchant_id": customer.merchant_id,
        "scope": ["refund_requests:own"],
        "allowed_actions": ["issue_refund", "ask_person"],
        "method": "session",
    }


@pytest.mark.parametrize("host", ["north.example.net", "NORTH.example.net:8000"])
def test_one_user_of_two_merchants_is_the_customer_of_the_host(host):
    user = make_user()
    north = make_customer(user=user, merchant=make_merchant(host="north.example.net"))
    south = make_customer(user=user, merchant=make_merchant(host="south.example.net"))
    assert identify(user, host).customer_id == north.pk
    assert identify(user, "south.example.net").customer_id == south.pk


def test_on_a_shared_host_only_merchants_without_a_host_of_their_own_are_meant():
    user = make_user()
    make_customer(user=user, merchant=make_merchant(host="north.example.net"))
    with pytest.raises(NotACustomerError):
        identify(user)
    shared = make_customer(user=user)
    assert identify(user).customer_id == shared.pk


def test_on_a_shared_host_a_user_of_two_merchants_is_not_guessed():
    user = make_user()
    make_customer(user=user)
    make_customer(user=user)
    with pytest.raises(NotACustomerError):
        identify(user)


@pytest.mark.parametrize("who", ["nobody", "staff without a customer record"])
def test_who_is_no_customer_stops_here(who):
    user = AnonymousUser() if who == "nobody" else make_user(is_staff=True)
    with pytest.raises(NotACustomerError):
        identify(user)


@pytest.mark.parametrize("written", ["2841", "#2841", "  #2841 "])
def test_an_order_of_ones_own_is_authorised(written):
    order = make_order(number="2841")
    found = authorize_request(signed_in=identify(order.customer.user), order_number=written)
    assert (found.order_id, found.order_number) == (order.pk, "2841")
    assert found.signed_in.customer_id == order.customer_id


def asked(signed_in, number):
    """Ask for an order that is not theirs; return what was raised and the work it took."""
    with CaptureQueriesContext(connection) as queries, pytest.raises(OrderNotFoundError) as raised:
        authorize_request(signed_in=signed_in, order_number=number)
    return raised.value.args, [query["sql"].replace(number, "N") for query in queries]


def test_a_foreign_and_a_missing_order_get_the_same_answer_for_the_same_work():
    customer = make_customer()
    neighbour = make_order(number="7001", customer=make_customer(merchant=customer.merchant))
    elsewhere = make_order(number="7002", customer=make_customer(user=make_user()))
    signed_in = identify(customer.user)
    answers = [asked(signed_in, number) for number in (neighbour.number, elsewhere.number, "7003")]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0] == ()
    assert len(answers[0][1]) == 1


def test_an_order_at_another_merchant_of_the_same_user_is_not_reached():
    user = make_user()
    here = make_customer(user=user)
    elsewhere = make_customer(user=user, merchant=make_merchant(host="north.example.net"))
    order = make_order(customer=elsewhere)
    with pytest.raises(OrderNotFoundError):
        authorize_request(signed_in=identify(user), order_number=order.number)
    assert identify(user).customer_id == here.pk


def test_an_unauthorised_request_stores_nothing():
    customer, foreign = make_customer(), make_order()
    with nothing_written(), pytest.raises(OrderNotFoundError):
        pipeline.open_request(
            signed_in=identify(customer.user),
            order_number=foreign.number,
            message="I was charged twice.",
            problem="",
            client_token="",
            now=NOW,
        )
