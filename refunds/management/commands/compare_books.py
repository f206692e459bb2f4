"""``manage.py compare_books``: compare our refunds, the provider's list and the settlement reports now."""

import argparse
from datetime import UTC, date
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from approvals.models import ReviewCase
from ledger.clock import now_utc
from ledger.models import Merchant
from refunds.evidence.three_books.comparing import (
    MOST_ASKED,
    ComparisonOrder,
    compare_books,
    newest_comparable_day,
)
from refunds.gateways.port import Gateway
from refunds.gateways.registry import GatewayNotConfiguredError, get_contract, get_gateway
from refunds.models import BookComparison, BookDifference
from refunds.states import CheckCause

MAX_LISTED: Final = 200
DIFFERENT, IMPOSSIBLE = 1, 2
_FIRST_YEAR: Final = (
    2000  # no provider's books begin earlier, and the look back must stay within the calendar
)


class Command(BaseCommand):
    help = (
        "Compare three books up to the end of a day, as far back as refunds may still change, and list every "
        "difference by kind. Nothing "
        "is mended: each difference opens one case. Exits 0 if the books agree, 1 if they differ, 2 if they cannot "
        "be compared."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--date",
            type=_day,
            metavar="YYYY-MM-DD",
            help="up to the end of which day (UTC); default: the newest whose reports can be there",
        )
        parser.add_argument("--merchant", metavar="CODE", help="default: every merchant")
        parser.add_argument("--offline", action="store_true", help="ask the provider nothing")
        parser.add_argument(
            "--most-asked",
            type=int,
            default=MOST_ASKED,
            metavar="N",
            help="for how many payments of a merchant the provider is asked at most (default: %(default)s)",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        day = options["date"] or newest_comparable_day(now_utc(), get_contract())
        if day >= now_utc().astimezone(UTC).date():
            raise CommandError(f"{day} is not over yet", returncode=IMPOSSIBLE)
        if options["most_asked"] < 0:
            raise CommandError("--most-asked must be 0 or more", returncode=IMPOSSIBLE)
        gateway = None if options["offline"] else _gateway()
        merchants = _merchants(options["merchant"])
        differing = 0
        for merchant in merchants:
            order = ComparisonOrder(
                merchant=merchant,
                books_of=day,
                gateway=gateway,
                contract=get_contract(),
                cause=CheckCause.PERSON,
                most_asked=options["most_asked"],
            )
            comparison = compare_books(order, clock=now_utc, progress=self.stderr.write)
            if comparison is not None:
                differing += self._tell(merchant, comparison)
        if differing:
            raise CommandError(f"{differing} differences; nothing was changed", returncode=DIFFERENT)
        self.stdout.write("the books agree")

    def _tell(self, merchant: Merchant, comparison: BookComparison) -> int:
        reach = (
            f"{comparison.settled_until:%F %T} UTC"
            if comparison.settled_until
            else "nowhere: none is imported"
        )
        self.stdout.write(
            f"{merchant.code} up to {comparison.books_of}: {comparison.payments} payments; asked the provider about"
            f" {comparison.asked} ({comparison.unread} unreadable, {comparison.not_asked} left out);"
            f" settlement reports reach {reach}"
        )
        if comparison.foreign:
            self.stdout.write(
                f"  {comparison.foreign} settled refunds are of payments that are not held here"
            )
        rows = list(BookDifference.objects.filter(comparison=comparison).order_by("kind", "pk")[:MAX_LISTED])
        tickets = dict(
            ReviewCase.objects.filter(subject_id__in=[row.subject_id for row in rows])
            .order_by("opened_at")
            .values_list("subject_id", "ticket")
        )
        for row in rows:
            about = row.processor_reference or row.operation_id or "-"
            named = f" of {row.operation_id}" if row.operation_id and row.processor_reference else ""
            self.stdout.write(
                f"  {row.kind}: {about}{named} on {row.payment_reference}, ticket #{tickets[row.subject_id]}"
            )
        for kind, count in comparison.counts.items():
            self.stdout.write(f"  {count} {kind}")
        if comparison.capped:
            self.stdout.write("  there are more differences than are kept at once")
        return sum(comparison.counts.values())


def _merchants(code: str | None) -> list[Merchant]:
    found = Merchant.objects.order_by("pk")
    merchants = list(found.filter(code=code) if code else found)
    if not merchants:
        message = f"no merchant has the code {code}" if code else "there is no merchant yet"
        raise CommandError(message, returncode=IMPOSSIBLE)
    return merchants


def _gateway() -> Gateway:
    try:
        return get_gateway()
    except GatewayNotConfiguredError as error:
        message = "this process has no credentials of the provider (STRIPE_API_KEY); --offline asks nothing"
        raise CommandError(message, returncode=IMPOSSIBLE) from error


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.min
    if day.year < _FIRST_YEAR:
        message = f"must be a day such as 2026-11-28, not before {_FIRST_YEAR}: {text[:40]!r}"
        raise argparse.ArgumentTypeError(message)
    return day
