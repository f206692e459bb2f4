"""``manage.py bench_seed COUNT FILE``: load orders for the bench, and write each customer's API token to FILE."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from knox.models import AuthToken

from config.demo.bench.orders import MERCHANT, document
from config.demo.people import set_up_people
from ledger.clock import now_utc
from ledger.loading.loader import load_document
from ledger.models import Customer, Merchant


class Command(BaseCommand):
    help = "Load orders that were charged twice, one policy, and one API token a line by order number."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Say how many, and where the tokens go."""
        parser.add_argument("count", type=int)
        parser.add_argument("tokens", type=Path)

    def handle(self, *_args: Any, **options: Any) -> None:
        now, count = now_utc(), options["count"]
        report = load_document(document(count=count, now=now), now=now)
        if report.problems:
            raise CommandError("; ".join(str(problem) for problem in report.problems))
        set_up_people(merchants=list(Merchant.objects.all()), now=now)
        customers = Customer.objects.filter(merchant__code=MERCHANT).select_related("user")
        users = {customer.reference: customer.user for customer in customers}
        tokens = [AuthToken.objects.create(user=users[f"C-{index}"])[1] for index in range(count)]
        options["tokens"].write_text("\n".join(tokens))
