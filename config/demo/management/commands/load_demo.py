"""``manage.py load_demo``: load the demo's ledger, people and policies, the provider's charges; qualify the model."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from config.demo.demo_data import MODEL_FACTS, build_demo_ledger, gateway_charges, gateway_refunds
from config.demo.people import set_up_people
from config.demo.story.books import ProviderBook
from config.demo.story.simulators import Model, Shop
from ledger.clock import now_utc
from ledger.loading.loader import load_document
from ledger.models import Merchant


class Command(BaseCommand):
    help = (
        "Load the demo's merchants, customers, orders, staff and policies; what is there already stays. "
        "The models are evaluated at every start, since their address is a new one."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the file that keeps what the shop got beside its own orders."""
        parser.add_argument("--shop-orders", type=Path, required=True)

    def handle(self, *_args: Any, **options: Any) -> None:
        now = now_utc()
        remembered = Shop(options["shop_orders"]).remember()
        if Merchant.objects.exists():
            self.stdout.write(
                f"kept the data of the last start; the shop has {remembered} orders of it again"
            )
        else:
            self._load(now)
        set_up_people(merchants=list(Merchant.objects.all()), now=now)
        if settings.DEMO_ADMITS_ANY_MODEL:
            self.stdout.write("the model was not evaluated: the demo asks it all the same")
            return
        Model().calm()  # what an interrupted story armed would fail the evaluation
        for name in settings.ASSISTANT_MODELS:
            call_command("qualify_model", name, facts=MODEL_FACTS, stdout=self.stdout)

    def _load(self, now: Any) -> None:
        ledger = build_demo_ledger(now)
        report = load_document(ledger, now=now)
        if report.problems:
            raise CommandError("; ".join(str(problem) for problem in report.problems))
        provider = ProviderBook()
        provider.seed(gateway_charges(ledger))
        provider.seed_refunds(gateway_refunds(ledger))
        self.stdout.write(
            f"loaded {len(ledger['merchants'])} merchants, {len(ledger['customers'])} customers, "
            f"{len(ledger['orders'])} orders"
        )
