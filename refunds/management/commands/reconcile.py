"""``manage.py reconcile [rfop_…]``: look operations up at the provider and explain what was found."""

import getpass
import re
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ledger.actors import Actor
from ledger.clock import now_utc
from ledger.transitions import Why, append_record
from refunds import recovery
from refunds.management.foreground import FAILED, NOT_THERE, STILL_STUCK, Worker
from refunds.models import RefundOperation
from refunds.nudges import Nudge, reconcile_now
from refunds.stages.s11_reconcile_outcome import STAGE
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import RESOLVED_OPERATION_STATES, OperationState

LOOK_UP = "LOOK_UP_AGAIN"
_DUE = (recovery.find_overdue_submissions, recovery.find_unknown_outcomes, recovery.find_late_evidence)


class Command(BaseCommand):
    help = (
        "Look one refund operation up at the payment provider, or all whose look-up is due, and print what each "
        "source proved and what moved. Nothing is ever sent by it. Exits 0 if all of them are resolved or never "
        "were sent, 3 if one is still in doubt or for people, 1 if a look-up failed, 2 if there is no such operation."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "operation", nargs="?", metavar="OPERATION", help="its id, rfop_…; none: all that are due"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        one = options["operation"]
        if one is not None:
            require_operation(one)
        worker = Worker.from_settings()
        nudges = iter([_asked_for(one)]) if one is not None else _due()
        looked, doubtful, failed = 0, 0, 0
        for nudge in nudges:
            looked += 1
            operation_id = nudge.kwargs["operation_id"]
            failed += not self._look(worker, nudge, operation_id)
            doubtful += _in_doubt(operation_id)
        self.stdout.write(f"{looked} looked up, {doubtful} still in doubt, {failed} failed")
        if failed:
            raise CommandError("a look-up failed; see above and the log", returncode=FAILED)
        if doubtful:
            raise CommandError("not everything could be established", returncode=STILL_STUCK)

    def _look(self, worker: Worker, nudge: Nudge, operation_id: str) -> bool:
        """Look one up and tell; return whether it went well."""
        before = RefundOperation.objects.select_related("workflow").get(pk=operation_id)
        # What may be sent again is left to those who submit: this command only ever reads at the provider.
        tally = worker.work_off([nudge], steps=1, progress=self.stderr.write)
        after = RefundOperation.objects.select_related("workflow").get(pk=operation_id)
        self.stdout.write(f"{operation_id}")
        for line in tally.failed:
            self.stdout.write(f"  failed: {line}")
        checks = after.checks.filter(number__gt=before.checks_made).order_by("number")
        for check in checks:
            self.stdout.write(f"  check {check.number}: {check.verdict}")
            for line in check.explanation:
                self.stdout.write(f"    {line}")
        if not checks and not tally.failed:
            self.stdout.write("  not due any more: another worker looked at it meanwhile")
        self._tell_moves(before, after)
        return not tally.failed

    def _tell_moves(self, before: RefundOperation, after: RefundOperation) -> None:
        for what, old, new in (
            ("operation", before, after),
            (f"request {after.workflow.reference}", before.workflow, after.workflow),
        ):
            moves = new.events.filter(state_sequence__gt=old.state_sequence).order_by("state_sequence")
            path = " -> ".join([old.state, *moves.values_list("to_state", flat=True)])
            self.stdout.write(f"  {what}: {path}" + ("" if moves else ", unchanged"))
        if after.state == OperationState.CONFIRMED_ABSENT:
            self.stdout.write("  the workers may now send the same command again under the same key")
        elif after.next_check_at is not None:
            self.stdout.write(f"  next look: {after.next_check_at:%F %T} UTC")


def require_operation(operation_id: str) -> None:
    """End the command unless there is such an operation."""
    if not re.fullmatch(r"rfop_[0-9A-Z]{26}", operation_id):
        raise CommandError(
            "this is no operation's id: it begins with rfop_ and 26 letters and digits follow",
            returncode=NOT_THERE,
        )
    if not RefundOperation.objects.filter(pk=operation_id).exists():
        raise CommandError(f"there is no operation {operation_id} here", returncode=NOT_THERE)


def _asked_for(operation_id: str) -> Nudge:
    """Keep as evidence who asked, and return the nudge that looks now."""
    workflow_id = RefundOperation.objects.values_list("workflow_id", flat=True).get(pk=operation_id)
    now = now_utc()
    with evidence_transaction(workflow_id=workflow_id, operation_id=operation_id, now=now) as evidence:
        if evidence.operation is not None:
            who = Actor.system(f"shell:{getpass.getuser()}")
            append_record(
                evidence.operation,
                Why(who, STAGE, LOOK_UP, evidence.operation.policy_version),
                now=now,
            )
    return reconcile_now(operation_id)


def _due() -> Iterator[Nudge]:
    """Claim batch after batch of what is due now; by one and the same moment, no row is found twice."""
    now = now_utc()
    for find in _DUE:
        while nudges := find(now=now):
            yield from nudges


def _in_doubt(operation_id: str) -> bool:
    state = RefundOperation.objects.values_list("state", flat=True).get(pk=operation_id)
    return state not in {*RESOLVED_OPERATION_STATES, OperationState.CREATED}
