"""What an HTTP source's document must say before any row of it may land: the order asked for, and its owner's only.

The format is that of docs/ledger-files.md. A source tells of orders and money. Who signs in as a customer, and to
which provider account a merchant's charges belong, is not its business: such sections are compared, never taken.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from ledger.loading.formats.documented_json import read_document
from ledger.loading.formats.files import UnreadableFileError
from ledger.loading.formats.json_text import parse_json
from ledger.loading.rows import Batch

CLOCK_TOLERANCE: Final = timedelta(minutes=5)  # how far ahead of ours a source's clock may be


class Discrepancy(StrEnum):
    """How an answer contradicts itself, the question, or what is held."""

    UNREADABLE = "UNREADABLE"
    ANOTHER_MERCHANT = "ANOTHER_MERCHANT"
    ANOTHER_CUSTOMER = "ANOTHER_CUSTOMER"
    ANOTHER_ORDER = "ANOTHER_ORDER"
    ANOTHER_ACCOUNT = "ANOTHER_ACCOUNT"
    FROM_THE_FUTURE = "FROM_THE_FUTURE"
    CONTRADICTS_BOOK = "CONTRADICTS_BOOK"
    PAYMENT_NOT_LISTED = "PAYMENT_NOT_LISTED"


class DiscrepancyError(Exception):
    """If you see this outside ``ledger.sources``, an answer was not turned into SourceUnavailable.

    Its text is a code and a place (``orders[0].payments[1]``), never a value from the document.
    """

    def __init__(self, code: Discrepancy, where: str = "") -> None:
        super().__init__(f"{code} {where}".strip())


@dataclass(frozen=True, slots=True)
class Asked:
    """The names, at the source, of what was asked for. ``gateway_account`` is the one that is held."""

    merchant: str
    customer: str
    order_number: str
    gateway_account: str


def read_answer(body: bytes, *, asked: Asked, now: datetime) -> Batch:
    """Return the orders of an answer, with ``taken_at`` never later than ``now``. Raises DiscrepancyError."""
    batch = _parsed(body)
    if batch.problems:
        raise DiscrepancyError(Discrepancy.UNREADABLE, batch.problems[0].where)
    _check_scope(batch, asked)
    taken_at = batch.taken_at or now
    if taken_at > now + CLOCK_TOLERANCE:
        raise DiscrepancyError(Discrepancy.FROM_THE_FUTURE)
    # Facts are as old as the source says, and never younger than the question.
    batch.taken_at = min(taken_at, now)
    batch.merchants, batch.customers = [], []
    return batch


def _parsed(body: bytes) -> Batch:
    try:
        return read_document(parse_json(body.decode("utf-8")))
    except (UnreadableFileError, UnicodeDecodeError):
        raise DiscrepancyError(Discrepancy.UNREADABLE) from None


def _check_scope(batch: Batch, asked: Asked) -> None:
    for merchant in batch.merchants:
        if merchant.code != asked.merchant:
            raise DiscrepancyError(Discrepancy.ANOTHER_MERCHANT, merchant.where)
        if (merchant.gateway_account or asked.gateway_account) != asked.gateway_account:
            raise DiscrepancyError(Discrepancy.ANOTHER_ACCOUNT, merchant.where)
    for customer in batch.customers:
        _check_owner(customer.merchant, customer.reference, asked, customer.where)
    for order in batch.orders:
        _check_owner(order.merchant, order.customer, asked, order.where)
    if all(order.number != asked.order_number for order in batch.orders):
        raise DiscrepancyError(Discrepancy.ANOTHER_ORDER)


def _check_owner(merchant: str, customer: str | None, asked: Asked, where: str) -> None:
    if merchant != asked.merchant:
        raise DiscrepancyError(Discrepancy.ANOTHER_MERCHANT, where)
    if customer != asked.customer:
        raise DiscrepancyError(Discrepancy.ANOTHER_CUSTOMER, where)
