"""Wrong designs that can be planted on purpose (``DEMO_BREAK``): the demo must notice each one and fail.

They replace parts of the running product from outside, so that no line of the product knows of them.
"""

from dataclasses import replace
from typing import Any

from ledger import transitions
from ledger.one_statement import run
from refunds.gateways.port import AnswerClass, GatewayAnswer, RefundCommand
from refunds.gateways.stripe import StripeGateway


def plant(fault: str) -> None:
    """Plant one fault: ``new_key``, ``double_submit`` or ``lost_event``; an empty name plants none."""
    if fault == "new_key":
        _resend_with(lambda command: replace(command, idempotency_key=f"{command.idempotency_key}:2"))
    elif fault == "double_submit":
        _resend_with(lambda command: command)
    elif fault == "lost_event":
        _lose_events()


def _resend_with(changed: Any) -> None:
    """Send a refund again, without looking first, when its answer is lost."""
    submit_once = StripeGateway.submit_refund

    def submit_refund(self: StripeGateway, command: RefundCommand) -> GatewayAnswer:
        answer = submit_once(self, command)
        if answer.answer_class is AnswerClass.UNKNOWN:
            return submit_once(self, changed(command))
        return answer

    StripeGateway.submit_refund = submit_refund  # type: ignore[method-assign]


def _lose_events() -> None:
    """Commit the state of a completed operation without the event that explains it."""
    write = transitions._write  # noqa: SLF001 - it is broken from outside, on purpose

    def lose(change: Any, row: Any, event: Any) -> Any:
        if row.topic == "refund_operation" and row.state == "COMPLETED":
            run(change)
            return event
        return write(change, row, event)

    transitions._write = lose  # noqa: SLF001
