"""Show what a payment provider promises, where it says so, and what the operator decided."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ledger.clock import now_utc
from refunds.gateways.contract import ProviderContract
from refunds.gateways.contracts.adyen_v72 import ADYEN_V72
from refunds.gateways.contracts.braintree import BRAINTREE
from refunds.gateways.contracts.paypal_v2 import PAYPAL_V2
from refunds.gateways.contracts.table import HEADER, contract_rows, markdown_table
from refunds.gateways.registry import get_contract

_DATA_ONLY = {contract.provider: contract for contract in (ADYEN_V72, PAYPAL_V2, BRAINTREE)}


class Command(BaseCommand):
    help = "Show a provider's contract as it is in force here, with the source of each value; 3 if its review is due."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--provider", default="", help="another record than the one that is executed")
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="one JSON object with a list of fields")
        form.add_argument("--markdown", action="store_true", help="the table of docs/provider-contract.md")

    def handle(self, **options: Any) -> None:
        executed = get_contract()
        records = _DATA_ONLY | {executed.provider: executed}
        name = options["provider"] or executed.provider
        if name not in records:
            raise CommandError(f"no record of {name}; there are {', '.join(sorted(records))}", returncode=2)
        contract = records[name]
        current = contract.is_current(now_utc())
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(contract, current=current), indent=1))
        elif options["markdown"]:
            self.stdout.write(markdown_table(contract))
        else:
            for row in (HEADER, *contract_rows(contract)):
                self.stdout.write("\t".join(row))
            counts = "counts until" if current else "ended on"
            self.stdout.write(f"The review {counts} {contract.review_ends.date()}.")
        if not current:
            raise CommandError(
                f"the record of {name} must be reviewed: nothing is sent again by it", returncode=3
            )


def _as_json(contract: ProviderContract, *, current: bool) -> dict[str, Any]:
    names = [name.lower() for name in HEADER]
    return {
        "provider": contract.provider,
        "review_ends": contract.review_ends.isoformat(),
        "current": current,
        "fields": [dict(zip(names, row, strict=True)) for row in contract_rows(contract)],
    }
