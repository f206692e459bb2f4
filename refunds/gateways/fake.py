"""A gateway in memory, for tests: the same promises as a provider, and its failures on order.

It passes the contract suite that the real adapter passes. It is safe to share between threads.
"""

import hashlib
import threading
from collections import deque
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

import rfc8785

from ledger.transaction_guard import refuse_open_transaction
from refunds.gateways.codes import AdapterCode
from refunds.gateways.port import (
    LIST,
    RETRIEVE,
    AnswerClass,
    GatewayAnswer,
    LookupAnswer,
    ProviderStatus,
    RefundCommand,
    RefundFact,
)

_NO_MONEY = (ProviderStatus.FAILED, ProviderStatus.CANCELED)


class Ordered(StrEnum):
    """What the next submission meets."""

    BOOK_THEN_LOSE = "BOOK_THEN_LOSE"  # the refund is made, the answer is not seen
    NEVER_ARRIVE = "NEVER_ARRIVE"  # the request is lost on the way
    NOT_EXECUTED = "NOT_EXECUTED"  # no connection
    PENDING = "PENDING"  # the refund is made and waits
    REFUSE = "REFUSE"  # a business refusal, as for a disputed charge


@dataclass(slots=True)
class _Payment:
    amount_minor_units: int
    currency: str
    disputed: bool


class FakeGateway:
    """The port over dictionaries. ``submissions`` holds every command that was sent, lost ones included."""

    provider = "fake"
    api_version = "fake-1"

    def __init__(self) -> None:
        self.submissions: list[RefundCommand] = []
        self.lookups_fail = False
        self._lock = threading.Lock()
        self._payments: dict[tuple[str, str], _Payment] = {}
        self._refunds: dict[str, list[RefundFact]] = {}  # by account, oldest first
        self._kept: dict[tuple[str, str], tuple[RefundCommand, GatewayAnswer]] = {}
        self._orders: deque[Ordered] = deque()

    def seed_payment(
        self,
        *,
        payment_reference: str,
        amount_minor_units: int,
        currency: str,
        account: str = "",
        disputed: bool = False,
    ) -> None:
        """Put a captured payment into the book."""
        with self._lock:
            self._payments[account, payment_reference] = _Payment(amount_minor_units, currency, disputed)

    def order(self, *outcomes: Ordered) -> None:
        """Queue what the next submissions meet, one each; without an order they are answered."""
        with self._lock:
            self._orders.extend(outcomes)

    def refunds(self, payment_reference: str, *, account: str = "") -> tuple[RefundFact, ...]:
        """Return what is booked for a payment, oldest first: the truth."""
        with self._lock:
            return tuple(
                fact for fact in self._refunds.get(account, []) if fact.payment_reference == payment_reference
            )

    def set_status(
        self, processor_reference: str, status: ProviderStatus, *, failure_reason: str | None = None
    ) -> None:
        """Let time pass for one refund: pending to succeeded, succeeded to failed."""
        with self._lock:
            for facts in self._refunds.values():
                facts[:] = [
                    replace(
                        fact, status=status, provider_status=status.lower(), failure_reason=failure_reason
                    )
                    if fact.processor_reference == processor_reference
                    else fact
                    for fact in facts
                ]

    def submit_refund(self, command: RefundCommand) -> GatewayAnswer:
        """Answer as a provider would, or as ordered."""
        refuse_open_transaction()
        with self._lock:
            self.submissions.append(command)
            ordered = self._orders.popleft() if self._orders else None
            if ordered is Ordered.NOT_EXECUTED:
                return _answer(AnswerClass.NOT_EXECUTED, code=AdapterCode.CONNECT_FAILED)
            if ordered is Ordered.NEVER_ARRIVE:
                return _answer(AnswerClass.UNKNOWN, code=AdapterCode.CONNECTION_LOST)
            answer = self._once(command, ordered)
            if ordered is Ordered.BOOK_THEN_LOSE:
                return _answer(AnswerClass.UNKNOWN, code=AdapterCode.ANSWER_TIMED_OUT)
            return answer

    def list_refunds(self, *, payment_reference: str, account: str) -> LookupAnswer:
        """Return every refund of a payment, newest first; an unknown payment is not an empty list."""
        refuse_open_transaction()
        with self._lock:
            known = (account, payment_reference) in self._payments
        facts = tuple(reversed(self.refunds(payment_reference, account=account)))
        return self._lookup(LIST, facts, known=known)

    def retrieve_refund(self, *, processor_reference: str, account: str) -> LookupAnswer:
        """Return one refund by the id that this gateway gave it."""
        refuse_open_transaction()
        with self._lock:
            facts = tuple(
                fact
                for fact in self._refunds.get(account, [])
                if fact.processor_reference == processor_reference
            )
        return self._lookup(RETRIEVE, facts, known=bool(facts))

    def request_body_sha256(self, command: RefundCommand) -> str:
        """Return the digest of the command's canonical JSON (RFC 8785)."""
        plain = asdict(command) | {"amount_minor_units": str(command.amount_minor_units)}
        return hashlib.sha256(rfc8785.dumps(plain)).hexdigest()

    def _once(self, command: RefundCommand, ordered: Ordered | None) -> GatewayAnswer:
        kept = self._kept.get((command.account, command.idempotency_key))
        if kept is not None:
            first, answer = kept
            if first == command:
                return replace(answer, replayed=True)
            return _answer(AnswerClass.UNKNOWN, http_status=400, error_type="idempotency_error")
        answer = self._execute(command, ordered)
        self._kept[command.account, command.idempotency_key] = (command, answer)
        return answer

    def _execute(self, command: RefundCommand, ordered: Ordered | None) -> GatewayAnswer:
        payment = self._payments.get((command.account, command.payment_reference))
        refusal = self._refusal(command, payment, ordered)
        if payment is None or refusal is not None:
            unknown = payment is None
            answer = _answer(
                AnswerClass.UNKNOWN if unknown else AnswerClass.REFUSED,
                http_status=404 if unknown else 400,
                error_type="invalid_request_error",
                code=refusal,
            )
            return replace(answer, went_back_before=refusal in _WENT_BACK)
        facts = self._refunds.setdefault(command.account, [])
        pending = ordered is Ordered.PENDING
        fact = RefundFact(
            processor_reference=f"re_fake_{len(self._kept) + 1:04d}",
            operation_id=command.operation_id,
            amount_minor_units=command.amount_minor_units,
            currency=command.currency,
            provider_status="pending" if pending else "succeeded",
            status=ProviderStatus.PENDING if pending else ProviderStatus.SUCCEEDED,
            payment_reference=command.payment_reference,
            created_at=datetime.now(UTC),
            failure_reason=None,
        )
        facts.append(fact)
        made = AnswerClass.PENDING if pending else AnswerClass.ACCEPTED
        return _answer(made, http_status=200, refund=fact)

    def _refusal(
        self, command: RefundCommand, payment: _Payment | None, ordered: Ordered | None
    ) -> str | None:
        if payment is None:
            return "resource_missing"
        if payment.disputed or ordered is Ordered.REFUSE:
            return "charge_disputed"
        refunded = sum(
            fact.amount_minor_units
            for fact in self._refunds.get(command.account, [])
            if fact.payment_reference == command.payment_reference and fact.status not in _NO_MONEY
        )
        if refunded >= payment.amount_minor_units:
            return "charge_already_refunded"
        if refunded + command.amount_minor_units > payment.amount_minor_units:
            return "amount_above_remaining"
        return None if command.currency == payment.currency else "currency_mismatch"

    def _lookup(self, surface: str, facts: tuple[RefundFact, ...], *, known: bool) -> LookupAnswer:
        complete = known and not self.lookups_fail
        code = None if complete else ("resource_missing" if not known else AdapterCode.CONNECTION_LOST)
        return LookupAnswer(
            surface=surface,
            complete=complete,
            refunds=facts if complete else (),
            http_status=200 if complete else (None if known else 404),
            error_code=code,
            detail=code or f"{len(facts)} read",
            attempts=1 if complete else 3,
        )


_WENT_BACK = frozenset({"charge_already_refunded", "amount_above_remaining"})


def _answer(
    answer_class: AnswerClass,
    *,
    http_status: int | None = None,
    error_type: str | None = None,
    code: str | None = None,
    refund: RefundFact | None = None,
) -> GatewayAnswer:
    return GatewayAnswer(
        answer_class=answer_class,
        refund=refund,
        http_status=http_status,
        error_type=error_type,
        error_code=code,
        replayed=False,
        request_id=None,
        body_sha256=None,
        detail=f"fake {code or answer_class}",
    )
