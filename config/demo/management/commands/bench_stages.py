"""``manage.py bench_stages TOKENS FILE``: list every statement of one refund, and write the counts to FILE."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from config.demo.bench.orders import USED, order_number
from config.demo.bench.stages import refund_once


class Command(BaseCommand):
    help = "Refund the first orders that bench_seed loaded, in this process, and list what the last one sent."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the file that bench_seed wrote, and the one for the counts."""
        parser.add_argument("tokens", type=Path)
        parser.add_argument("counts", type=Path)

    def handle(self, *_args: Any, **options: Any) -> None:
        # The first one fills caches and opens connections; the second one is told about.
        tokens = options["tokens"].read_text().split()[:USED]
        for index, token in enumerate(tokens):
            found = refund_once(token=token, order=order_number(index))
        for step in found:
            self.stdout.write(
                f"\n{step['name']}: {step['sent']} statements, {step['at_commit']} more at commit"
            )
            for number, (kind, where) in enumerate(step["statements"], 1):
                self.stdout.write(f"  {number:3} {kind:<50} {where}")
        options["counts"].write_text(json.dumps(found))
