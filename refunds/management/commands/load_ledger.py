"""Load merchants, customers, orders and what was paid for them. Formats: docs/ledger-files.md."""

import argparse
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError

from ledger.clock import now_utc
from ledger.loading.formats.examples import EXAMPLES
from ledger.loading.formats.fields import FieldError, moment
from ledger.loading.formats.files import UnreadableFileError
from ledger.loading.formats.registry import FileFormat, MerchantNeededError
from ledger.loading.loader import LoadOptions, LoadReport, load_file

MAX_LISTED: Final = 200
BAD_ROWS: Final = 1
UNREADABLE: Final = 2


class Command(BaseCommand):
    help = (
        "Load ledger facts from a file: everything of it, or nothing. Exits 0 if the file is loaded, 1 with a list"
        " if rows are bad, 2 if the file cannot be read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", nargs="?", type=Path)
        parser.add_argument(
            "--merchant", metavar="CODE", help="whose file it is, where the file does not say"
        )
        parser.add_argument("--format", choices=list(FileFormat), default=FileFormat.AUTO)
        parser.add_argument("--dry-run", action="store_true", help="check everything, change nothing")
        parser.add_argument(
            "--as-of",
            type=_moment,
            metavar="TIME",
            help="when the facts were read; default: the file's own time",
        )
        parser.add_argument(
            "--order-column",
            default="order_id (metadata)",
            metavar="NAME",
            help="column of a Stripe payments export that holds the order number (default: %(default)s)",
        )
        parser.add_argument(
            "--skip-rows-without-order",
            action="store_true",
            help="leave out charges of a Stripe payments export that name no order",
        )
        parser.add_argument(
            "--update-totals", action="store_true", help="take order totals that differ from the stored ones"
        )
        parser.add_argument("--example", choices=list(EXAMPLES), help="print a small file in this format")

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["example"]:
            self.stdout.write(EXAMPLES[options["example"]], ending="")
            return
        if options["file"] is None:
            raise CommandError("say which FILE to load, or --example json", returncode=UNREADABLE)
        try:
            report = load_file(
                options["file"], options=_options(options), now=now_utc(), progress=self._progress
            )
        except (UnreadableFileError, MerchantNeededError) as error:
            raise CommandError(f"{options['file']}: {error}", returncode=UNREADABLE) from error
        except IntegrityError as error:
            message = "the tables changed while the file was loaded; nothing was loaded, run it again"
            raise CommandError(message, returncode=BAD_ROWS) from error
        self._tell(report, dry_run=options["dry_run"])

    def _progress(self, text: str) -> None:
        self.stderr.write(text)

    def _tell(self, report: LoadReport, *, dry_run: bool) -> None:
        for note in report.notes:
            self.stdout.write(f"note: {note}")
        if report.problems:
            for problem in report.problems[:MAX_LISTED]:
                self.stderr.write(f"{problem.where}: {problem.text}")
            more = len(report.problems) - MAX_LISTED
            if more > 0:
                self.stderr.write(f"... and {more} more")
            rows = "1 bad row" if len(report.problems) == 1 else f"{len(report.problems)} bad rows"
            raise CommandError(f"{rows}; nothing was loaded", returncode=BAD_ROWS)
        for noun, count in report.counts.items():
            self.stdout.write(
                f"{noun}: {count.added} added, {count.updated} updated, {count.unchanged} unchanged"
            )
        self.stdout.write(f"{report.confirmed} payments confirmed as of {report.as_of.isoformat()}")
        if dry_run:
            self.stdout.write("dry run: nothing was changed")


def _options(options: dict[str, Any]) -> LoadOptions:
    return LoadOptions(
        merchant=options["merchant"],
        file_format=FileFormat(options["format"]),
        order_column=options["order_column"],
        skip_rows_without_order=options["skip_rows_without_order"],
        update_totals=options["update_totals"],
        dry_run=options["dry_run"],
        as_of=options["as_of"],
    )


def _moment(text: str) -> datetime:
    try:
        return moment(text)
    except FieldError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
