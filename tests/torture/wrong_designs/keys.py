"""Mistakes about sending: keys, attempts, and when a command may go again."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

from refunds.gateways.port import AnswerClass
from refunds.gateways.stripe import StripeGateway
from refunds.models import GatewayAttempt
from refunds.stages import s10_submit_refund as stage
from tests.torture.wrong_designs.design import WrongDesign

_FOR_EVER = datetime(2100, 1, 1, tzinfo=UTC)


@contextmanager
def new_key_for_each_attempt() -> Iterator[None]:
    """Each attempt gets a key of its own, "so that the provider does not mix them up"."""
    real = stage._command

    def command(operation: Any) -> Any:
        made = real(operation)
        number = operation.attempts.count()
        return replace(
            made, idempotency_key=f"{made.idempotency_key}:{number}" if number else made.idempotency_key
        )

    with patch.object(stage, "_command", command):
        yield


@contextmanager
def new_words_for_each_attempt() -> Iterator[None]:
    """The second attempt leaves out the reason, and nobody compares it with the first."""
    real = stage._command

    def command(operation: Any) -> Any:
        made = real(operation)
        return replace(made, reason_code="OTHER") if operation.attempts.exists() else made

    with (
        patch.object(stage, "_command", command),
        patch.object(stage, "what_differs", lambda *_args, **_more: None),
    ):
        yield


@contextmanager
def attempt_written_with_its_answer() -> Iterator[None]:
    """The attempt is written once its answer is there: one insert less before the call."""
    kept: dict[str, GatewayAttempt] = {}
    real_keep = stage._keep_response

    def create(**columns: Any) -> GatewayAttempt:
        attempt = GatewayAttempt(**columns)
        kept[attempt.pk] = attempt
        return attempt

    def keep(attempt_id: str, *args: Any) -> None:
        attempt = kept.pop(attempt_id, None)
        if attempt is not None:
            attempt.save(force_insert=True)
        real_keep(attempt_id, *args)

    with (
        patch.object(GatewayAttempt.objects, "create", create),
        patch.object(stage, "_keep_response", keep),
    ):
        yield


@contextmanager
def client_tries_again() -> Iterator[None]:
    """The client library repeats a call whose answer was lost, as it does by default."""
    real = StripeGateway.submit_refund

    def submit(self: StripeGateway, command: Any) -> Any:
        answer = real(self, command)
        return real(self, command) if answer.answer_class is AnswerClass.UNKNOWN else answer

    with patch.object(StripeGateway, "submit_refund", submit):
        yield


@contextmanager
def key_outlives_its_retention() -> Iterator[None]:
    """Once absent, a command may go under its old key whenever its turn comes."""
    with ExitStack() as patches:
        for module in ("refunds.stages.s10_submit_refund", "refunds.verdicts.silence"):
            patches.enter_context(patch(f"{module}.safe_until", lambda *_args: _FOR_EVER))
        yield


@contextmanager
def attempts_without_end() -> Iterator[None]:
    """What is absent is sent again until it works."""
    with ExitStack() as patches:
        for module in ("s10_submit_refund", "s11_reconcile_outcome"):
            patches.enter_context(patch(f"refunds.stages.{module}.MAX_EXECUTIONS", 1000))
        yield


DESIGNS = (
    WrongDesign(
        "new_key_for_each_attempt", new_key_for_each_attempt, ("lost_and_absent",), frozenset({"ONE_KEY"})
    ),
    WrongDesign(
        "new_words_for_each_attempt",
        new_words_for_each_attempt,
        ("lost_and_absent",),
        frozenset({"ONE_BODY"}),
    ),
    WrongDesign(
        "attempt_written_with_its_answer",
        attempt_written_with_its_answer,
        ("automatic",),
        frozenset({"ATTEMPT_BEFORE_CALL"}),
    ),
    WrongDesign(
        "client_tries_again",
        client_tries_again,
        ("lost_after_booking",),
        frozenset({"ATTEMPT_BEFORE_CALL", "NO_BLIND_RESEND"}),
    ),
    WrongDesign(
        "key_outlives_its_retention",
        key_outlives_its_retention,
        ("past_the_safe_window",),
        frozenset({"INSIDE_SAFE_WINDOW"}),
    ),
    WrongDesign(
        "attempts_without_end", attempts_without_end, ("lost_again_and_again",), frozenset({"FIVE_ATTEMPTS"})
    ),
)
