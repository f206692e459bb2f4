"""Stage 1. Authenticate and authorise.

Input: the signed-in user, how they signed in, and the host they came to.
Output: user, tenant, scope, allowed actions, and a verified order of their own where they named one.
Failure destination: the transactional path stops; a foreign order and a missing one get the same answer.
"""

from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from ledger.models import Customer, Order

SCOPE = ("refund_requests:own",)
ALLOWED_ACTIONS = ("issue_refund", "ask_person")


class NotACustomerError(Exception):
    """If you see this, somebody is signed in who has no customer record at the merchant of this host."""


class OrderNotFoundError(Exception):
    """If you see this, the order does not exist or is somebody else's: callers must not tell which."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who asks, for which tenant, and what they may ask for."""

    user_id: int
    customer_id: int
    merchant_id: int
    scope: tuple[str, ...]
    allowed_actions: tuple[str, ...]
    method: str

    def as_evidence(self) -> dict[str, Any]:
        """Return the identity evidence that the workflow's first event keeps."""
        plain = asdict(self)
        return plain | {"scope": list(self.scope), "allowed_actions": list(self.allowed_actions)}


@dataclass(frozen=True, slots=True)
class AuthorizedRequest:
    """A signed-in customer and one order that is theirs; no order where they have not named one yet."""

    signed_in: SignedIn
    order: Order | None

    @property
    def order_id(self) -> int | None:
        """Return the order's id."""
        return self.order.pk if self.order is not None else None

    @property
    def order_number(self) -> str:
        """Return the order's number, or an empty text."""
        return self.order.number if self.order is not None else ""

    @property
    def slot(self) -> str | None:
        """Return the slot that one open request of this customer about this order takes."""
        return f"{self.signed_in.customer_id}:{self.order_id}" if self.order_id is not None else None


def identify_customer(*, user: AbstractBaseUser | AnonymousUser, host: str, method: str) -> SignedIn:
    """Return the customer that ``user`` is at the merchant of ``host``; raise ``NotACustomerError``.

    A host that belongs to a merchant decides; on a shared host a user with exactly one customer record is that one.
    """
    if not user.is_authenticated or user.pk is None:
        raise NotACustomerError
    customers = list(Customer.objects.filter(user_id=user.pk).select_related("merchant")[:50])
    name = host.partition(":")[0].lower()
    at_host = [customer for customer in customers if customer.merchant.host == name]
    chosen = at_host or [customer for customer in customers if not customer.merchant.host]
    if len(chosen) != 1:
        raise NotACustomerError
    return SignedIn(
        user_id=user.pk,
        customer_id=chosen[0].pk,
        merchant_id=chosen[0].merchant_id,
        scope=SCOPE,
        allowed_actions=ALLOWED_ACTIONS,
        method=method,
    )


def authorize_request(*, signed_in: SignedIn, order_number: str) -> AuthorizedRequest:
    """Return the customer's own order of that number; raise ``OrderNotFoundError`` alike for foreign and missing.

    One query, scoped by tenant and customer, so that both cases do the same work. An empty number names no order:
    nothing is looked up, and nothing is guessed from what the customer wrote.
    """
    if not order_number:
        return AuthorizedRequest(signed_in=signed_in, order=None)
    number = order_number.strip().removeprefix("#")
    order = (
        Order.objects.filter(
            merchant_id=signed_in.merchant_id, customer_id=signed_in.customer_id, number=number
        )
        .only("pk", "number")
        .first()
    )
    if order is None:
        raise OrderNotFoundError
    return AuthorizedRequest(signed_in=signed_in, order=order)
