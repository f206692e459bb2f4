"""``manage.py unfreeze_payment REFERENCE --merchant CODE --reason TEXT``: let refunds of a payment go on."""

import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ledger.actors import Actor
from ledger.clock import now_utc
from ledger.intake import IntakeRefusedError, check_note
from ledger.models import Payment
from refunds.evidence.frozen import NotFrozenError, StillOverdrawnError, release_payment
from refunds.evidence.remaining import Conservation, conservation_of

REFUSED, UNKNOWN = 1, 2
SAID = "OTHER"  # the reason stands in the note


class Command(BaseCommand):
    help = (
        "Release a payment that was frozen because more of it went back than was captured. Refused while the facts "
        "still say so. Without --reason the sums are shown and nothing is changed. Exits 0 if it is done, 1 if it is "
        "refused, 2 if there is no such payment or the call is wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("reference", help="the provider's id of the charge, such as ch_...")
        parser.add_argument("--merchant", metavar="CODE", required=True)
        parser.add_argument(
            "--account", metavar="ID", help="needed where accounts share the reference; '' is one's own"
        )
        parser.add_argument("--reason", default="", help="what was found out; kept, its digest as evidence")

    def handle(self, *_args: Any, **options: Any) -> None:
        payment = _payment(options)
        try:
            reason = check_note(options["reason"])
        except IntakeRefusedError as refused:
            raise CommandError(f"--reason: {refused.text}", returncode=UNKNOWN) from refused
        self._show(payment, conservation_of(payment.pk))
        if not reason:
            return
        actor = Actor.system(f"shell:{getpass.getuser()}")
        try:
            release_payment(payment_id=payment.pk, reason=SAID, note=reason, actor=actor, now=now_utc())
        except NotFrozenError as error:
            raise CommandError("it is not frozen", returncode=REFUSED) from error
        except StillOverdrawnError as error:
            message = f"it stays frozen: {error}. The facts must change first (a dispute won, a refund that failed)."
            raise CommandError(message, returncode=REFUSED) from error
        self.stdout.write("released; refunds of it go on")

    def _show(self, payment: Payment, money: Conservation) -> None:
        since = f"frozen since {payment.frozen_at:%F %T} UTC" if payment.frozen_at else "not frozen"
        self.stdout.write(f"{payment.processor_reference}: {since}")
        for name in ("captured", "refunded", "pending", "reserved", "disputed", "remaining"):
            self.stdout.write(f"  {name:<10}{getattr(money, name):>16}")


def _payment(options: dict[str, Any]) -> Payment:
    """Return the one payment that the call names, or end the command."""
    named = Payment.objects.filter(
        merchant__code=options["merchant"], processor_reference=options["reference"]
    ).order_by("account")
    found = [row for row in named if options["account"] in (None, row.account)]
    if not found:
        message = f"{options['merchant']} has no payment {options['reference']}"
        raise CommandError(message, returncode=UNKNOWN)
    if len(found) > 1:
        accounts = ", ".join(row.account or "''" for row in found)
        raise CommandError(f"say which one with --account: {accounts}", returncode=UNKNOWN)
    return found[0]
