"""``manage.py demo``: tell the story against the running parts; exit 1 unless all of it held."""

import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.demo.story.telling import Story
from ledger.models import Customer


class Command(BaseCommand):
    help = "Tell the story of four refund requests and compare the provider's book with ours after each."

    def handle(self, *_args: Any, **_options: Any) -> None:
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
        if not Story(customer=customer, say=self._say).tell():
            sys.exit(1)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
