"""The cases that a bad answer must not touch: each with how an honest run of it ends."""

from collections.abc import Callable
from typing import Any, Final

from django.contrib.auth.models import User

from ledger.models import Merchant
from tests.adversary.desk import Case, new_merchant
from tests.adversary.ids import CountedIds
from tests.casework.staff import charge_of
from tests.factories import NOW, make_customer, make_duplicate_order, make_order, make_payment

People = tuple[Merchant, list[User]]
Making = Callable[[CountedIds, People], Case]
AUTOMATIC, ONE_PERSON, TWO_PEOPLE = "automatic", "one person", "two people"
HOLD, INVESTIGATION, STAFF = "a hold", "three captures", "started by staff"
# How many refunds an honest run makes, and of how much.
HONEST_REFUNDS: Final = {
    AUTOMATIC: [4_999],
    ONE_PERSON: [14_900],
    TWO_PEOPLE: [60_000],
    HOLD: [],
    INVESTIGATION: [],
    STAFF: [6_000],
}
HONEST_REVIEWS: Final = {AUTOMATIC: (0,), ONE_PERSON: (1,), TWO_PEOPLE: (2,), STAFF: (1,)}
ASKS_A_MODEL: Final = (AUTOMATIC, ONE_PERSON, TWO_PEOPLE)


def new_case(name: str, ids: CountedIds, **policy: Any) -> Case:
    """Return a seeded case; ``policy`` are columns of its merchant's policy version."""
    return _MADE[name](ids, new_merchant(**policy))


def _duplicate(amount: int) -> Making:
    def made(ids: CountedIds, people: People) -> Case:
        merchant, staff = people
        order = make_duplicate_order(
            customer=make_customer(merchant=merchant), amount_minor_units=amount
        ).order
        # Another customer's charges, for answers that would rather refund those.
        make_duplicate_order(customer=make_customer(merchant=merchant), amount_minor_units=amount)
        return Case(order, ids, merchant, staff)

    return made


def _charges(*captured: bool) -> Making:
    def made(ids: CountedIds, people: People) -> Case:
        merchant, staff = people
        order = make_order(customer=make_customer(merchant=merchant))
        for is_captured in captured:
            make_payment(order=order, captured=is_captured, refreshed_at=NOW)
        return Case(order, ids, merchant, staff)

    return made


def _staff(ids: CountedIds, people: People) -> Case:
    merchant, staff = people
    charge = charge_of(merchant)
    asks = {"payment": charge, "staff": staff[-1]}
    return Case(charge.order, ids, merchant, staff[:-1], staff_asks=asks)


_MADE: Final[dict[str, Making]] = {
    AUTOMATIC: _duplicate(4_999),
    ONE_PERSON: _duplicate(14_900),
    TWO_PEOPLE: _duplicate(60_000),
    HOLD: _charges(True, False),  # captured, and not
    INVESTIGATION: _charges(True, True, True),
    STAFF: _staff,
}
