"""``manage.py demo``: tell the story against the running parts; exit 1 unless all of it held."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.demo.story.books import ProviderBook
from config.demo.story.orders import charges_of, fresh_orders
from config.demo.story.scene import Scene
from config.demo.story.simulators import MailServer, Model, RealModel, Shop
from config.demo.story.telling import Story
from config.demo.story.visitors import CustomerVisitor
from ledger.clock import now_utc
from ledger.models import Customer


class Command(BaseCommand):
    help = "Tell the story of nine refund requests and compare the provider's book with ours after each."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name what no setting names: the product does not know that its mail server is a simulator."""
        parser.add_argument("--shop-orders", type=Path, required=True, help="file of the shop's new orders")
        parser.add_argument("--mail-control", required=True, help="address of the mail simulator's control")
        parser.add_argument("--local-model", action="store_true", help="a real model answers")

    def handle(self, *_args: Any, **options: Any) -> None:
        customer = (
            Customer.objects.filter(user__isnull=False, merchant__host="")
            .select_related("merchant", "user")
            .order_by("pk")
            .first()
        )
        if customer is None:
            raise CommandError("There are no demo customers: run `manage.py load_demo` first.")
        if settings.DEMO_BREAK:
            self.stdout.write(
                f"\nDEMO_BREAK={settings.DEMO_BREAK}: a fault is planted, the story must notice it."
            )
        model = RealModel() if options["local_model"] else Model()
        shop, mail = Shop(options["shop_orders"]), MailServer(options["mail_control"])
        if not self._story(customer, shop, mail, model).tell():
            sys.exit(1)

    def _story(self, customer: Customer, shop: Shop, mail: MailServer, model: Model | RealModel) -> Story:
        provider = ProviderBook()
        orders = fresh_orders(customer=customer, shop=shop, now=now_utc())
        provider.seed(charges_of(orders, customer))
        scene = Scene(
            customer=customer,
            say=self._say,
            provider=provider,
            shop=shop,
            model=model,
            mail=mail,
            visitor=CustomerVisitor(customer, hurried=bool(settings.DEMO_BREAK)),
        )
        return Story(scene, orders)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
