"""The ledger source behind HTTP: asks for one order, lets its facts land, and answers from this database's tables.

What lands is read again under the payments' locks by whoever decides (stage 9, beat A), so a snapshot and the tables
can never tell two stories. The network is used before any transaction; the facts land in one transaction after it.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final

import structlog

from ledger.loading.loader import LoadOptions, load_batch
from ledger.loading.rows import Batch
from ledger.models import Order
from ledger.retries import LEDGER_SOURCE, run_attempts
from ledger.snapshot import LedgerSnapshot
from ledger.sources.document import Asked, Discrepancy, DiscrepancyError, read_answer
from ledger.sources.exchange import NoAnswer, SourceExchange
from ledger.sources.local_tables import LocalTables
from ledger.sources.port import OrderMissingError, SourceFailureKind, SourceUnavailable
from ledger.transaction_guard import refuse_open_transaction

SOURCE_NAME: Final = "http_json"
ORDERS_PATH: Final = "/orders"

logger = structlog.get_logger("ledger_source")


class HttpLedgerSource:
    """``GET <base_url>/orders?merchant=CODE&number=NUMBER``; the answer is a document of docs/ledger-source.md."""

    def __init__(
        self,
        *,
        base_url: str,
        token: str,
        timeout_seconds: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """``timeout_seconds`` bounds each of the attempts; see SourceExchange for what is refused."""
        self._exchange = SourceExchange(base_url=base_url, token=token, timeout_seconds=timeout_seconds)
        self._sleep = sleep

    def read_order(
        self, *, merchant_id: int, customer_id: int, order_id: int, now: datetime
    ) -> LedgerSnapshot | SourceUnavailable:
        """Ask the source, let what it says land, and return the order; see ``LedgerSource.read_order``.

        Raises OpenTransactionError inside a transaction. An order that is not there, or not theirs, is never
        asked for.
        """
        refuse_open_transaction()
        asked = _asked(merchant_id=merchant_id, customer_id=customer_id, order_id=order_id)
        query = {"merchant": asked.merchant, "number": asked.order_number}
        attempted = run_attempts(
            LEDGER_SOURCE,
            lambda: self._exchange.get(ORDERS_PATH, query=query),
            is_passing=lambda answer: isinstance(answer, NoAnswer) and answer.passing,
            sleep=self._sleep,
        )
        answer = attempted.answer
        if isinstance(answer, NoAnswer):
            return _unavailable(answer.kind, answer.detail, attempted.attempts)
        try:
            batch = read_answer(answer, asked=asked, now=now)
            as_of = _land(batch, now=now)
            held = LocalTables().read_order(
                merchant_id=merchant_id, customer_id=customer_id, order_id=order_id, now=as_of
            )
            _check_payments(held, batch)
        except DiscrepancyError as error:
            return _unavailable(SourceFailureKind.DISCREPANCY, str(error), attempted.attempts)
        return replace(held, source=SOURCE_NAME)


def _asked(*, merchant_id: int, customer_id: int, order_id: int) -> Asked:
    found = Order.objects.filter(pk=order_id, merchant_id=merchant_id, customer_id=customer_id)
    order = found.select_related("merchant", "customer").first()
    if order is None:
        raise OrderMissingError(order_id)
    return Asked(
        merchant=order.merchant.code,
        customer=order.customer.reference,
        order_number=order.number,
        gateway_account=order.merchant.gateway_account,
    )


def _land(batch: Batch, *, now: datetime) -> datetime:
    """Write the facts, all or none, and return how old they are. Raises DiscrepancyError."""
    report = load_batch(batch, options=LoadOptions(), now=now, default_as_of=now, progress=lambda _: None)
    if report.problems:
        raise DiscrepancyError(Discrepancy.CONTRADICTS_BOOK, report.problems[0].where)
    return report.as_of


def _check_payments(held: LedgerSnapshot, batch: Batch) -> None:
    """A charge that is held and no longer listed is a contradiction that people have to look at."""
    listed = {row.reference for row in batch.payments if row.order == held.order.number}
    if any(payment.processor_reference not in listed for payment in held.order.payments):
        raise DiscrepancyError(Discrepancy.PAYMENT_NOT_LISTED)


def _unavailable(kind: SourceFailureKind, detail: str, attempts: int) -> SourceUnavailable:
    logger.warning("ledger_source_unavailable", kind=kind.value, detail=detail, attempts=attempts)
    return SourceUnavailable(kind=kind, detail=detail, attempts=attempts)
