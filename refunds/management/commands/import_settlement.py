"""Import a settlement report of the provider. Formats: docs/settlement.md."""

from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError

from ledger.clock import now_utc
from ledger.loading.formats.files import UnreadableFileError
from ledger.settlements.importing import ImportOptions, ImportReport, MerchantUnknownError, import_report
from ledger.settlements.rows import SettlementReport
from refunds.gateways.stripe_commands import OPERATION_ID_KEY

MAX_LISTED: Final = 200
BAD_ROWS: Final = 1
UNREADABLE: Final = 2
OPERATION_COLUMN: Final = f"refund_metadata[{OPERATION_ID_KEY}]"
_REPORTS: Final = {
    "auto": None,
    "balance-change": SettlementReport.BALANCE_CHANGE,
    "payout": SettlementReport.PAYOUT,
}


class Command(BaseCommand):
    help = (
        "Import an itemised settlement report: everything of it, or nothing. Exits 0 if it is imported, 1 with a list"
        " if rows are bad, 2 if the file cannot be read. Nothing else is changed by it; compare_books compares."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument("--merchant", metavar="CODE", required=True, help="whose balance it is of")
        parser.add_argument("--account", metavar="ID", help="connected account; default: the merchant's own")
        parser.add_argument("--report", choices=list(_REPORTS), default="auto")
        parser.add_argument(
            "--operation-column",
            default=OPERATION_COLUMN,
            metavar="NAME",
            help="column that holds the id of our operation (default: %(default)s)",
        )
        parser.add_argument(
            "--skip-other-accounts",
            action="store_true",
            help="leave out rows of other connected accounts, and count them",
        )
        parser.add_argument("--dry-run", action="store_true", help="check everything, change nothing")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            done = import_report(
                options["file"],
                options=ImportOptions(
                    merchant=options["merchant"],
                    operation_column=options["operation_column"],
                    account=options["account"],
                    report=_REPORTS[options["report"]],
                    skip_other_accounts=options["skip_other_accounts"],
                    dry_run=options["dry_run"],
                ),
                now=now_utc(),
                progress=self.stderr.write,
            )
        except (UnreadableFileError, MerchantUnknownError) as error:
            raise CommandError(f"{options['file']}: {error}", returncode=UNREADABLE) from error
        except IntegrityError as error:
            message = "the tables changed while the file was read; nothing was imported, run it again"
            raise CommandError(message, returncode=BAD_ROWS) from error
        self._tell(done, dry_run=options["dry_run"])

    def _tell(self, done: ImportReport, *, dry_run: bool) -> None:
        for note in done.rows.notes:
            self.stdout.write(f"note: {note}")
        if done.problems:
            for problem in done.problems[:MAX_LISTED]:
                self.stderr.write(f"{problem.where}: {problem.text}")
            more = len(done.problems) - MAX_LISTED
            if more > 0:
                self.stderr.write(f"... and {more} more")
            bad = "1 bad row" if len(done.problems) == 1 else f"{len(done.problems)} bad rows"
            raise CommandError(f"{bad}; nothing was imported", returncode=BAD_ROWS)
        rows = done.rows
        self.stdout.write(
            f"{rows.report} of account {done.account or '(own)'}: {done.added} rows added, {done.learnt} completed,"
            f" {done.unchanged} unchanged"
        )
        for category, count in sorted(rows.left_out.items()):
            self.stdout.write(f"not about refunds or disputes: {count} {category}")
        if rows.last_booked_at is not None:
            self.stdout.write(f"booked up to {rows.last_booked_at.isoformat()}")
        if dry_run:
            self.stdout.write("dry run: nothing was changed")
