"""Give a customer a token for the HTTP API."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser
from knox.models import AuthToken

from ledger.models import Customer


class Command(BaseCommand):
    help = "Print a new API token of the user with this e-mail address, once; only its hash is stored."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")

    def handle(self, *_args: Any, **options: Any) -> None:
        users = list(get_user_model().objects.filter(email__iexact=options["email"], is_active=True)[:2])
        if len(users) != 1:
            found = "No active user has" if not users else "More than one active user has"
            raise CommandError(f"{found} the e-mail address {options['email']}.")
        if not Customer.objects.filter(user=users[0]).exists():
            self.stderr.write("This user has no customer record: the API will answer not_a_customer.")
        _, token = AuthToken.objects.create(user=users[0])
        self.stdout.write(token)
