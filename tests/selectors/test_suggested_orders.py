import pytest

from refunds.selectors.requests import suggest_orders
from tests.factories import make_customer, make_order

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("I was charged twice for order #2841.", ["2841"]),
        ("Orders 2850 and (#2841), please!", ["2850", "2841"]),
        ("“A-17/b”: twice? #A-17/b", ["A-17/b"]),
        ("I paid $2841 and 28411, not 2 841", []),
        ("\uff12\uff18\uff14\uff11", []),
        ("a-17/B", []),
        ("9000 is somebody else's, 0000 nobody's", []),
        ("# ... !", []),
        ("", []),
    ],
)
def test_own_order_numbers_that_stand_in_a_text_are_hints(message, found):
    customer = make_customer()
    for number in ("2841", "2850", "A-17/b"):
        make_order(customer=customer, number=number)
    make_order(customer=make_customer(merchant=customer.merchant), number="9000")
    assert suggest_orders(customer_id=customer.pk, message=message) == found


@pytest.mark.failure("F093")
def test_numbers_of_other_people_are_never_suggested(django_assert_num_queries):
    customer = make_customer()
    others = [make_order(customer=make_customer(merchant=customer.merchant)).number for _ in range(5)]
    with django_assert_num_queries(1):
        assert suggest_orders(customer_id=customer.pk, message=" ".join(others)) == []
