"""``manage.py switch [NAME on|off --reason TEXT]``: show the switches, or turn one."""

import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ledger.actors import Actor
from ledger.clock import now_utc
from ledger.intake import IntakeRefusedError, check_note
from ledger.models import Switch
from ledger.switches import SWITCHES, turn


class Command(BaseCommand):
    help = (
        "Show the switches, or turn one. gateway_writes off: no refund is sent to a payment provider; what is "
        "under way is still looked up, and everything goes on when it is turned on again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", choices=SWITCHES)
        parser.add_argument("position", nargs="?", choices=["on", "off"])
        parser.add_argument("--reason", default="", help="kept as evidence; needed to turn a switch off")

    def handle(self, *_args: Any, **options: Any) -> None:
        name, position = options["name"], options["position"]
        try:
            reason = check_note(options["reason"])
        except IntakeRefusedError as refused:
            raise CommandError(f"--reason: {refused.text}") from refused
        if name and not position:
            raise CommandError(f"say on or off: switch {name} off --reason '...'")
        if name:
            if position == "off" and not reason:
                raise CommandError("say why with --reason: it is kept as evidence")
            actor = Actor.system(f"shell:{getpass.getuser()}")
            turn(name, on=position == "on", reason=reason, actor=actor, now=now_utc())
        self._show()

    def _show(self) -> None:
        turned = {row.name: row for row in Switch.objects.filter(name__in=SWITCHES)}
        for name in SWITCHES:
            row = turned.get(name)
            if row is None:
                self.stdout.write(f"{name}: on (never turned)")
            else:
                why = f", {row.reason}" if row.reason else ""
                self.stdout.write(f"{row}, since {row.changed_at:%F %T} UTC by {row.changed_by}{why}")
