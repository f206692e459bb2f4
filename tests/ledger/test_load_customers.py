"""Customers of a file and the users they sign in as: a file adds links and never changes one."""

import pytest
from django.contrib.auth.models import User

from ledger.models import Customer
from tests.factories import make_customer, make_merchant, make_user
from tests.ledger.loading_files import changes, document, load, problems, row_counts

pytestmark = pytest.mark.django_db


def test_a_customer_with_an_address_gets_a_user_who_has_no_password_yet():
    load(document())
    user = User.objects.get()
    assert (user.username, user.email, user.has_usable_password()) == (
        "ana@example.com",
        "ana@example.com",
        False,
    )
    assert Customer.objects.get().user == user


def test_a_customer_without_an_address_has_no_user():
    load(document(lambda made: made["customers"][0].pop("email")))
    assert (Customer.objects.get().user, User.objects.count()) == (None, 0)


def test_an_existing_user_is_linked_whatever_the_case_of_the_address():
    user = make_user(username="ana", email="ANA@example.com")
    load(document())
    assert Customer.objects.get().user == user
    assert User.objects.count() == 1


def test_one_person_at_two_merchants_is_one_user_with_two_customers():
    def second_shop(made):
        made["merchants"].append({"code": "north", "region": "EU"})
        made["customers"].append({"merchant": "north", "reference": "C-1", "email": "ana@example.com"})

    load(document(second_shop))
    assert User.objects.count() == 1
    assert User.objects.get().customers.count() == 2


@pytest.mark.parametrize("case", ["two users", "another name", "linked", "taken"])
def test_a_file_never_changes_who_may_sign_in_for_a_customer(case):
    if case == "two users":
        make_user(username="a", email="ana@example.com")
        make_user(username="b", email="ana@example.com")
        expected = "email belongs to more than one user; link the customer by hand"
    elif case == "another name":
        make_user(username="ana@example.com", email="other@example.com")
        expected = "email is the name of a user with another e-mail address; link the customer by hand"
    elif case == "linked":
        make_customer(merchant=make_merchant(code="harbour"), reference="C-1")
        expected = "customer C-1 is linked to another user; a file does not change that"
    else:
        user = make_user(email="ana@example.com")
        make_customer(merchant=make_merchant(code="harbour"), reference="C-9", user=user)
        expected = "email belongs to another customer of this merchant"
    before = (row_counts(), User.objects.count())
    assert problems(load(document())) == [f"customers[0]: {expected}"]
    assert (row_counts(), User.objects.count()) == before


def test_a_customer_without_a_user_is_linked_later():
    load(document(lambda made: made["customers"][0].pop("email")))
    assert changes(load(document()))["customers"] == (0, 1, 0)
    assert Customer.objects.get().user == User.objects.get()
