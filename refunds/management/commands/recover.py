"""``manage.py recover --once``: one round of recovery in this process, without the broker."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from approvals.models import ReviewCase
from ledger.clock import now_utc
from ledger.relay import relay_audit_events
from refunds import recovery
from refunds.management.foreground import FAILED, NOT_THERE, STILL_STUCK, Tally, Worker
from refunds.models import RefundOperation
from refunds.states import SCANNED_OPERATION_STATES, OperationState
from refunds.tasks import deliver_due

MOST_COUNTED = 1000
MOST_AT_ONCE = 100_000  # ids in memory, and claims that run out while the first of them are worked off


class Command(BaseCommand):
    help = (
        "Run every scanner of the recovery once and do what it finds, in this process and without the broker; the "
        "workers may run beside it. Exits 0 if nothing is left that is due, 3 if something is, or if people have "
        "to decide, 1 if a step failed (the others were done)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="one round; beat does it again and again")
        parser.add_argument(
            "--limit",
            type=int,
            default=recovery.BATCH,
            metavar="N",
            help="most rows of one scanner (default: %(default)s)",
        )
        parser.add_argument("--json", action="store_true", help="print the summary as JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        if not options["once"]:
            raise CommandError("say recover --once: beat is what repeats it", returncode=NOT_THERE)
        if not 1 <= options["limit"] <= MOST_AT_ONCE:
            raise CommandError(f"--limit must be 1 to {MOST_AT_ONCE}", returncode=NOT_THERE)
        worker = Worker.from_settings()
        tallies = run_scans(worker, limit=options["limit"], progress=self.stderr.write)
        beside = run_beside(limit=options["limit"], now=now_utc())
        left = what_is_left(now=now_utc())
        if options["json"]:
            scans = {
                name: {"found": t.found, "done": t.done, "failed": t.failed} for name, t in tallies.items()
            }
            self.stdout.write(json.dumps({"scans": scans, "beside": beside, "left": left}))
        else:
            self._tell(tallies, beside, left)
        _end(tallies, left)

    def _tell(self, tallies: dict[str, Tally], beside: dict[str, int], left: dict[str, Any]) -> None:
        for name, tally in tallies.items():
            failed = f", {len(tally.failed)} failed" if tally.failed else ""
            self.stdout.write(f"{name}: {tally.found} found, {tally.done} done{failed}")
            for line in tally.failed:
                self.stdout.write(f"  {line}")
        for name, count in beside.items():
            self.stdout.write(f"{name}: {count}")
        for name, count in left["due"].items():
            self.stdout.write(f"still due for {name}: {count}")
        self.stdout.write(f"operations that wait for their time: {left['operations_waiting']}")
        self.stdout.write(f"operations that people have to decide: {left['operations_with_people']}")
        self.stdout.write(f"cases past the time that was promised: {left['cases_overdue']}")


def run_scans(worker: Worker, *, limit: int, progress: Callable[[str], Any]) -> dict[str, Tally]:
    """Run each scanner once and work off what it claimed; return what became of it, by the scanner's name."""
    tallies = {}
    for scan in recovery.SCANS:
        nudges = scan.find(now=worker.clock(), limit=limit)
        count = iter(range(1, len(nudges) + 1))

        def tell(text: str, count: Any = count, name: str = scan.name, found: int = len(nudges)) -> None:
            progress(f"{name} {next(count)} of {found}: {text}")

        tallies[scan.name] = worker.work_off(nudges, progress=tell)
    return tallies


def run_beside(*, limit: int, now: datetime) -> dict[str, int]:
    """Run what needs no provider: messages, published events, overdue cases, and rows without a due time."""
    return {
        "messages tried": deliver_due(),
        "audit events published": relay_audit_events(now=now, limit=10 * limit),
        "cases escalated": recovery.escalate_reviews(now=now, limit=limit),
        "forgotten rows made due": recovery.adopt_forgotten(now=now, limit=limit),
    }


def what_is_left(*, now: datetime) -> dict[str, Any]:
    """Count what is still due, and what waits for its time or for people; reads partial indexes only."""
    due = {scan.name: scan.due(now=now, most=MOST_COUNTED) for scan in recovery.SCANS}
    with_people = RefundOperation.objects.filter(state=OperationState.MANUAL_REVIEW)
    waiting = RefundOperation.objects.filter(state__in=sorted(SCANNED_OPERATION_STATES))
    overdue = ReviewCase.objects.filter(closed_at__isnull=True, due_at__lte=now)
    return {
        "due": {name: count for name, count in due.items() if count},
        "operations_waiting": waiting.count(),
        "operations_with_people": with_people.count(),
        "cases_overdue": overdue.count(),
    }


def _end(tallies: dict[str, Tally], left: dict[str, Any]) -> None:
    failed = sum(len(tally.failed) for tally in tallies.values())
    if failed:
        raise CommandError(f"{failed} of the steps failed; see above and the log", returncode=FAILED)
    if left["due"] or left["operations_with_people"] or left["cases_overdue"]:
        raise CommandError("something is still due, or people have to decide", returncode=STILL_STUCK)
