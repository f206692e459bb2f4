"""``manage.py app_role_sql ROLE``: print the grants of production's application role."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ledger.app_role import app_role_sql


class Command(BaseCommand):
    help = (
        "Print the SQL that grants ROLE what the application needs; run it as the owner after each migration."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role")

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            self.stdout.write(app_role_sql(options["role"]), ending="")
        except ValueError as error:
            raise CommandError(str(error)) from error
