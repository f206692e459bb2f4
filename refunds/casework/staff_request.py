"""What staff ask for, checked before anything is stored."""

from dataclasses import dataclass
from typing import Final

from ledger.intake import IntakeRefusedError, check_client_token, check_note
from ledger.models import Order, Payment
from ledger.money import MAX_MINOR_UNITS
from refunds.casework.permission import may_work_for
from refunds.casework.refusals import StaffStartRefusedError

OTHER: Final = "OTHER"
# Each reason needs a policy version of its own: the merchant says what it refunds, and how far back.
STAFF_REASONS: Final = (
    "DUPLICATE_CHARGE",
    "GOODWILL",
    "NOT_DELIVERED",
    "RETURNED_GOODS",
    "WRONG_PRICE",
    OTHER,
)
MAX_TOKEN: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffRefundRequest:
    """The form: one charge of one order of one merchant, and how much of it; the amount in minor units.

    ``client_token`` names this one filling-in of the form, so that sending it twice is one request.
    """

    staff_user_id: int
    merchant_id: int
    order_number: str
    payment_reference: str
    amount_minor_units: int
    currency: str
    reason_code: str
    note: str
    client_token: str

    @property
    def stored_token(self) -> str:
        """Return the token as it is stored: no customer's own token can look like it."""
        return f"staff:{self.staff_user_id}:{self.client_token}"


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A form whose person may ask, and whose order and charge belong together."""

    asked: StaffRefundRequest
    order: Order
    payment: Payment
    note: str


def check_staff_request(asked: StaffRefundRequest) -> CheckedRequest:
    """Return the form with its rows; raise ``StaffStartRefusedError``. Nothing is written."""
    if not may_work_for(merchant_id=asked.merchant_id, staff_user_id=asked.staff_user_id):
        raise StaffStartRefusedError("NOT_ALLOWED")
    note = _check_words(asked)
    amount = asked.amount_minor_units
    if (
        type(amount) is not int or not 0 < amount <= MAX_MINOR_UNITS
    ):  # neither a float nor a bool is an amount
        raise StaffStartRefusedError("AMOUNT_INVALID")
    order = _order_of(asked)
    if order.customer.user_id == asked.staff_user_id:
        raise StaffStartRefusedError("OWN_REQUEST")
    return CheckedRequest(asked, order, _payment_of(asked, order), note)


def _check_words(asked: StaffRefundRequest) -> str:
    try:
        check_client_token(asked.client_token)
        note = check_note(asked.note)
    except IntakeRefusedError as refused:
        raise StaffStartRefusedError(refused.code) from refused
    if len(asked.client_token) > MAX_TOKEN:
        raise StaffStartRefusedError("CLIENT_TOKEN_INVALID")
    if asked.reason_code not in STAFF_REASONS:
        raise StaffStartRefusedError("REASON_UNKNOWN")
    if asked.reason_code == OTHER and not note:
        raise StaffStartRefusedError("NOTE_REQUIRED")
    return note


def _order_of(asked: StaffRefundRequest) -> Order:
    number = asked.order_number.strip().removeprefix("#")
    order = (
        Order.objects.filter(merchant_id=asked.merchant_id, number=number).select_related("customer").first()
        if "\x00" not in number
        else None
    )
    if order is None:
        raise StaffStartRefusedError("ORDER_NOT_FOUND")
    return order


def _payment_of(asked: StaffRefundRequest, order: Order) -> Payment:
    """Return the order's charge of that reference; one reference in two accounts names none."""
    reference = asked.payment_reference
    mine = Payment.objects.filter(merchant_id=asked.merchant_id, order_id=order.pk)
    found = list(mine.filter(processor_reference=reference)[:2]) if "\x00" not in reference else []
    if len(found) != 1:
        raise StaffStartRefusedError("PAYMENT_NOT_FOUND")
    return found[0]
