"""Does in this process, one after another, what workers do with nudges: for a shell, and without the broker."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import structlog
from django.core.management.base import CommandError

from ledger.clock import now_utc
from ledger.tracing import start_trace
from refunds import pipeline
from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import Gateway
from refunds.gateways.registry import (
    GatewayNotConfiguredError,
    get_contract,
    get_gateway,
    uses_live_mode,
)
from refunds.nudges import DELIVER, Nudge
from refunds.states import CheckCause

FAILED: Final = 1
NOT_THERE: Final = 2
STILL_STUCK: Final = 3
_STEPS: Final = 10  # of one row in one go; what goes on for longer is left to the next round
logger = structlog.get_logger("foreground")


def require_gateway() -> Gateway:
    """Return the gateway, or end the command before it has claimed anything."""
    try:
        return get_gateway()
    except GatewayNotConfiguredError:
        raise CommandError(
            "this process has no credentials of the payment provider: run it where STRIPE_API_KEY is set",
            returncode=FAILED,
        ) from None


@dataclass(slots=True)
class Tally:
    """What became of the rows that one scan found."""

    found: int = 0
    done: int = 0
    failed: list[str] = field(default_factory=list)  # the row's id and the kind of its error


@dataclass(frozen=True, slots=True)
class Worker:
    """Calls what the tasks call; the time is read before each step, as in a worker."""

    gateway: Gateway
    contract: ProviderContract
    livemode: bool
    clock: Callable[[], datetime]

    @classmethod
    def from_settings(cls) -> "Worker":
        """Return a worker with this process's credentials; end the command if it has none."""
        return cls(require_gateway(), get_contract(), uses_live_mode(), now_utc)

    def work_off(
        self, nudges: Iterable[Nudge], *, steps: int = _STEPS, progress: Callable[[str], None]
    ) -> Tally:
        """Do what was found and what follows from it, in ``steps`` at most; one that fails stops no other."""
        tally = Tally()
        for nudge in nudges:
            tally.found += 1
            subject = next(iter(nudge.kwargs.values()))
            progress(f"{nudge.task} {subject}")
            try:
                self._go_on(nudge, steps)
            except Exception as error:
                # Named by its kind alone: an error's text may quote a row. The log keeps the rest, redacted.
                logger.exception("foreground.failed", task=nudge.task, subject=subject)
                tally.failed.append(f"{subject}: {type(error).__name__}")
            else:
                tally.done += 1
        return tally

    def _go_on(self, nudge: Nudge, steps: int) -> None:
        waiting = [nudge]
        for _ in range(steps):
            if not waiting:
                return
            waiting.extend(following for following in self.do(waiting.pop(0)) if following != DELIVER)

    def do(self, nudge: Nudge) -> tuple[Nudge, ...]:
        """Do one step; return what can go on."""
        start_trace()
        ids = nudge.kwargs
        if nudge.task == "advance_workflow":
            return pipeline.advance_workflow(workflow_id=ids["workflow_id"], clock=self.clock)
        if nudge.task == "submit_operation":
            return pipeline.submit_operation(
                operation_id=ids["operation_id"], gateway=self.gateway, clock=self.clock
            )
        if nudge.task == "reconcile_operation":
            return pipeline.reconcile_operation(
                operation_id=ids["operation_id"],
                gateway=self.gateway,
                contract=self.contract,
                now=self.clock(),
                cause=CheckCause(ids.get("cause", CheckCause.SCHEDULED)),
            )
        if nudge.task == "apply_webhook":
            return pipeline.apply_webhook(
                webhook_id=int(ids["webhook_id"]),
                gateway=self.gateway,
                contract=self.contract,
                livemode=self.livemode,
                now=self.clock(),
            )
        raise LookupError(f"nobody knows how to do {nudge.task}")
