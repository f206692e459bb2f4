"""Mistakes about what shares a transaction, what is locked, and what is asked again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.db import connection, transaction

from ledger import transitions
from ledger.models import Payment
from ledger.one_statement import insertion, run
from refunds.evidence import remaining
from refunds.stages import s09_create_operation, s10_submit_refund, s12_commit_evidence
from refunds.stages.s12_commit_evidence import Evidence
from refunds.states import ABANDONED_OPERATION_STATES, OperationState
from tests.torture.points import Fault, Kind
from tests.torture.wrong_designs.design import WrongDesign


@contextmanager
def outbox_in_its_own_transaction() -> Iterator[None]:
    """The audit event is written after the commit, so that a slow outbox holds nothing up."""

    def write(change: Any, row: Any, event: Any) -> Any:
        audit = transitions._audit_event(row, event)
        keys = run(*([change] if change else []), insertion(event))
        event.pk = keys[-1]
        event._state.adding = False
        row._update_initial_state()
        transaction.on_commit(lambda: audit.save(force_insert=True))
        return event

    with patch.object(transitions, "_write", write):
        yield


@contextmanager
def decided_before_the_lock() -> Iterator[None]:
    """The charge is read, found good for the amount, and nobody holds it meanwhile; no trigger asks again."""

    def unlocked(payment_ids: Any) -> tuple[Payment, ...]:
        return tuple(Payment.objects.select_related("order").filter(pk__in=payment_ids).order_by("pk"))

    def triggers(verb: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT tgname FROM pg_trigger WHERE tgrelid = 'refund_operations'::regclass AND tgname LIKE %s",
                ["%conserves_money%"],
            )
            for (name,) in cursor.fetchall():
                cursor.execute(f"ALTER TABLE refund_operations {verb} TRIGGER {name}")

    triggers("DISABLE")
    try:
        with patch.object(s12_commit_evidence, "_lock_payments", unlocked):
            yield
    finally:
        triggers("ENABLE")


@contextmanager
def approval_asked_once() -> Iterator[None]:
    """What was approved stays approved."""
    with (
        patch.object(s09_create_operation, "what_changed", lambda **_more: None),
        patch.object(s10_submit_refund, "_changed", lambda *_args: None),
    ):
        yield


@contextmanager
def unknown_releases_the_amount() -> Iterator[None]:
    """What may not have been paid is not counted, so that nobody waits for it."""
    wrong = ABANDONED_OPERATION_STATES | {OperationState.STATUS_UNKNOWN}
    with patch.object(remaining, "ABANDONED_OPERATION_STATES", wrong):
        yield


@contextmanager
def switch_is_read_elsewhere() -> Iterator[None]:
    """The kill switch is asked by the page that starts a refund; the worker need not ask again."""
    with (
        patch.object(s09_create_operation, "is_on", lambda _name: True),
        patch.object(s10_submit_refund, "is_on", lambda _name: True),
    ):
        yield


@contextmanager
def receipt_with_the_call() -> Iterator[None]:
    """The customer is told as soon as the refund is sent: it will arrive anyway."""
    real = Evidence.move_operation

    def move(self: Evidence, to: OperationState, why: Any, **changes: Any) -> None:
        real(self, to, why, **changes)
        if to is OperationState.SUBMITTED:
            self._owe_message("refund.completed")

    with patch.object(Evidence, "move_operation", move):
        yield


@contextmanager
def receipt_forgotten() -> Iterator[None]:
    """Mail is somebody else's business: no message is owed by the transaction that completes a refund."""
    with patch.object(s12_commit_evidence, "queue_notification", lambda **_more: None):
        yield


@contextmanager
def answer_not_kept() -> Iterator[None]:
    """The state says it all, so the answer that led to it is not kept."""
    with patch.object(s10_submit_refund, "_keep_response", lambda *_args: None):
        yield


_ASKED: list[Any] = []


def _nothing_yet(payment_ids: Any) -> tuple[Payment, ...]:
    _ASKED[:] = payment_ids
    return ()


def _lock_now(workflow: Any, _payments: Any) -> None:
    list(Payment.objects.select_for_update(no_key=True).filter(pk__in=_ASKED).order_by("pk"))


@contextmanager
def workflow_locked_first() -> Iterator[None]:
    """The answer is recorded under the same locks, only in another order."""
    real = s10_submit_refund.record_answer

    def record(*, found: Any, **more: Any) -> None:
        with (
            patch.object(s12_commit_evidence, "_lock_payments", _nothing_yet),
            patch.object(s12_commit_evidence, "_know_payments", _lock_now),
        ):
            real(found=found, **more)

    with patch.object(s10_submit_refund, "record_answer", record):
        yield


DESIGNS = (
    WrongDesign(
        "outbox_in_its_own_transaction",
        outbox_in_its_own_transaction,
        ("automatic",),
        frozenset({"EVENT_AND_OUTBOX"}),
        faults=((Kind.COMMIT, Fault.CRASH_AFTER),),
    ),
    WrongDesign(
        "decided_before_the_lock",
        decided_before_the_lock,
        ("partials_too_much",),
        frozenset({"RESERVED_ABOVE_CAPTURED"}),
        races=True,
    ),
    WrongDesign(
        "approval_asked_once",
        approval_asked_once,
        ("switched_off_under_way",),
        frozenset({"SENT_UNAPPROVED", "OPERATION_UNAPPROVED"}),
    ),
    WrongDesign(
        "unknown_releases_the_amount",
        unknown_releases_the_amount,
        ("lost_after_booking",),
        frozenset({"RESERVED_WHILE_OPEN"}),
    ),
    WrongDesign(
        "switch_is_read_elsewhere",
        switch_is_read_elsewhere,
        ("switched_off",),
        frozenset({"SENT_WHILE_SWITCHED_OFF"}),
    ),
    WrongDesign(
        "receipt_with_the_call",
        receipt_with_the_call,
        ("lost_and_absent",),
        frozenset({"MESSAGE_CLAIMS_TOO_MUCH"}),
    ),
    WrongDesign("receipt_forgotten", receipt_forgotten, ("automatic",), frozenset({"RECEIPT_OWED"})),
    WrongDesign("answer_not_kept", answer_not_kept, ("automatic",), frozenset({"STATE_FOLLOWS_EVIDENCE"})),
    WrongDesign(
        "workflow_locked_first",
        workflow_locked_first,
        ("automatic",),
        frozenset({"ONE_LOCK_ORDER"}),
        races=True,
    ),
)
