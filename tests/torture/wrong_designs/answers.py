"""Mistakes about what an answer, a silence or an event means."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from ledger.actors import Actor
from ledger.transitions import Why
from refunds import pipeline
from refunds.gateways import stripe as adapter
from refunds.gateways.port import AnswerClass
from refunds.gateways.stripe import StripeGateway
from refunds.models import RefundOperation
from refunds.stages import s10_submit_refund, s11_reconcile_outcome
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import CheckVerdict, OperationState
from refunds.verdicts import Judgement, silence
from tests.torture.points import Fault, Kind
from tests.torture.wrong_designs.design import WrongDesign

_WHY = Why(Actor.system("wrong"), "RECONCILE_OUTCOME", "WRONG")


@contextmanager
def not_found_means_absent() -> Iterator[None]:
    """A list without our refund proves that there is none."""

    def judge(_self: Any, lines: list[str]) -> Judgement:
        return Judgement(CheckVerdict.CONFIRMED_ABSENT, None, tuple(lines))

    with patch.object(silence.Silence, "judge", judge):
        yield


@contextmanager
def missing_payment_means_absent() -> Iterator[None]:
    """A 404 is an empty list."""
    real = StripeGateway.list_refunds

    def listed(self: StripeGateway, **asked: Any) -> Any:
        found = real(self, **asked)
        missing = found.http_status == 404
        return replace(found, complete=True, http_status=200, error_code=None) if missing else found

    with patch.object(StripeGateway, "list_refunds", listed):
        yield


def _answers_read(change: Any) -> Any:
    real = adapter.read_submission
    return patch.object(adapter, "read_submission", lambda exchange, **more: change(real(exchange, **more)))


@contextmanager
def server_error_means_failed() -> Iterator[None]:
    """A 5xx is an error, so nothing was done."""

    def read(answer: Any) -> Any:
        broken = answer.http_status is not None and answer.http_status >= 500
        return replace(answer, answer_class=AnswerClass.REFUSED) if broken else answer

    with _answers_read(read):
        yield


@contextmanager
def lost_answer_means_not_sent() -> Iterator[None]:
    """A connection that broke brought nothing there."""

    def read(answer: Any) -> Any:
        lost = answer.http_status is None and answer.answer_class is AnswerClass.UNKNOWN
        return replace(answer, answer_class=AnswerClass.NOT_EXECUTED) if lost else answer

    with _answers_read(read):
        yield


@contextmanager
def newest_refusal_decides() -> Iterator[None]:
    """A refusal refuses, whatever became of the attempts before."""
    real = s10_submit_refund.state_after_answer

    def decide(state: Any, answer: Any, **more: Any) -> Any:
        return real(state, answer, **more | {"earlier": []})

    with patch.object(s10_submit_refund, "state_after_answer", decide):
        yield


@contextmanager
def age_means_failed() -> Iterator[None]:
    """What was not answered in time has failed."""

    def lose(*, operation_id: str, now: Any) -> bool:
        found = RefundOperation.objects.get(pk=operation_id)
        with evidence_transaction(
            workflow_id=found.workflow_id, operation_id=operation_id, now=now
        ) as evidence:
            operation = evidence.operation
            if operation is None or operation.state != OperationState.SUBMITTED:
                return False
            if operation.next_check_at is None or operation.next_check_at > now:
                return False
            evidence.move_operation(OperationState.FAILED, _WHY)
        return True

    with patch.object(pipeline, "lose_overdue_answer", lose):
        yield


@contextmanager
def event_decides() -> Iterator[None]:
    """An event about our refund completes it; what the object says is only asked out of habit."""
    real = s11_reconcile_outcome.judge

    def weigh(facts: Any, lookups: Any, *, events: Any = (), **more: Any) -> Any:
        judgement = real(facts, lookups, events=events, **more)
        if not events or judgement.refund is None:
            return judgement
        return replace(judgement, verdict=CheckVerdict.CONFIRMED_COMPLETED, contradictory=False)

    with patch.object(s11_reconcile_outcome, "judge", weigh):
        yield


@contextmanager
def completed_is_for_ever() -> Iterator[None]:
    """What is complete is not looked at again."""
    real = s11_reconcile_outcome.state_after_check

    def decide(state: Any, judgement: Any) -> Any:
        return None if state is OperationState.COMPLETED else real(state, judgement)

    with patch.object(s11_reconcile_outcome, "state_after_check", decide):
        yield


@contextmanager
def unsigned_events_are_believed() -> Iterator[None]:
    """The address is secret, so whoever knows it is the provider."""
    with patch("refunds.webhooks.check_signature", lambda *_args, **_more: None):
        yield


@contextmanager
def overdue_is_nobodys() -> Iterator[None]:
    """An answer always comes, or the worker is told; nothing looks for the others."""
    with ExitStack() as patches:
        for name in ("find_overdue_submissions",):
            patches.enter_context(patch(f"refunds.recovery.{name}", lambda **_more: ()))
        yield


@contextmanager
def overdue_goes_to_people() -> Iterator[None]:
    """Recovery takes a short cut: what was not answered is for people, who can look it up themselves."""
    real = pipeline.lose_overdue_answer

    def lose(*, operation_id: str, now: Any) -> bool:
        if not real(operation_id=operation_id, now=now):
            return False
        found = RefundOperation.objects.get(pk=operation_id)
        with evidence_transaction(
            workflow_id=found.workflow_id, operation_id=operation_id, now=now
        ) as evidence:
            evidence.move_operation(OperationState.MANUAL_REVIEW, _WHY)
        return True

    with patch.object(pipeline, "lose_overdue_answer", lose):
        yield


@contextmanager
def completed_is_doubted() -> Iterator[None]:
    """A refund that cannot be seen just now may be gone: people had better look."""
    real = s11_reconcile_outcome.state_after_check

    def decide(state: Any, judgement: Any) -> Any:
        if state is OperationState.COMPLETED and judgement.refund is None:
            return OperationState.MANUAL_REVIEW
        return real(state, judgement)

    with patch.object(s11_reconcile_outcome, "state_after_check", decide):
        yield


DESIGNS = (
    WrongDesign(
        "not_found_means_absent", not_found_means_absent, ("still_running",), frozenset({"ABSENCE_PROVEN"})
    ),
    WrongDesign(
        "missing_payment_means_absent",
        missing_payment_means_absent,
        ("list_hidden",),
        frozenset({"ABSENCE_PROVEN"}),
    ),
    WrongDesign(
        "server_error_means_failed",
        server_error_means_failed,
        ("server_error_booked",),
        frozenset({"ABANDONED_BUT_PAID", "REFUSAL_PROVEN"}),
    ),
    WrongDesign(
        "lost_answer_means_not_sent",
        lost_answer_means_not_sent,
        ("lost_after_booking",),
        frozenset({"NO_BLIND_RESEND"}),
    ),
    WrongDesign(
        "newest_refusal_decides", newest_refusal_decides, ("resend_refused",), frozenset({"REFUSAL_PROVEN"})
    ),
    WrongDesign(
        "age_means_failed",
        age_means_failed,
        ("automatic",),
        frozenset({"ABANDONED_BUT_PAID"}),
        faults=((Kind.POST, Fault.CRASH_AFTER),),
    ),
    WrongDesign("event_decides", event_decides, ("pending_and_told",), frozenset({"COMPLETED_UNPROVEN"})),
    WrongDesign("completed_is_for_ever", completed_is_for_ever, ("failed_late",), frozenset({"BOOKS_AGREE"})),
    WrongDesign(
        "unsigned_events_are_believed",
        unsigned_events_are_believed,
        ("forged_event",),
        frozenset({"ONLY_SIGNED_EVENTS"}),
    ),
    WrongDesign(
        "overdue_is_nobodys",
        overdue_is_nobodys,
        ("automatic",),
        frozenset({"NOBODY_OWNS_THE_END", "RECOVERY_ENDS"}),
        faults=((Kind.POST, Fault.CRASH_BEFORE),),
    ),
    WrongDesign(
        "overdue_goes_to_people",
        overdue_goes_to_people,
        ("automatic",),
        frozenset({"SAME_STORY"}),
        faults=((Kind.POST, Fault.CRASH_AFTER),),
    ),
    WrongDesign(
        "completed_is_doubted",
        completed_is_doubted,
        ("told_during_an_outage",),
        frozenset({"TERMINAL_STAYS"}),
    ),
)
