"""Settlement reports for tests, in the columns of the provider's itemised files."""

from io import StringIO

from django.core.management import CommandError, call_command

from ledger.models import Settlement, SettlementFile
from refunds.management.commands.import_settlement import OPERATION_COLUMN

COLUMNS = [
    "automatic_payout_id", "automatic_payout_effective_at", "balance_transaction_id", "created_utc", "created",
    "available_on_utc", "currency", "gross", "fee", "net", "reporting_category", "source_id", "description",
    "customer_facing_amount", "customer_facing_currency", "charge_id", "payment_intent_id",
    "charge_created_utc", "payment_method_type", "connected_account_id", OPERATION_COLUMN,
]  # fmt: skip
REFUND = {
    "balance_transaction_id": "txn_1",
    "created_utc": "2024-11-25 10:00:00",
    "currency": "usd",
    "gross": "-49.99",
    "fee": "0.00",
    "net": "-49.99",
    "reporting_category": "refund",
    "source_id": "re_1",
    "description": 'REFUND FOR CHARGE ("two", lines)',
    "charge_id": "ch_1",
    "payment_intent_id": "pi_1",
}


def report_text(*rows, columns=COLUMNS):
    """Return a report; each row is what differs from one refund of $49.99."""
    lines = [",".join(columns)]
    lines += [",".join(_cell({**REFUND, **row}.get(name, "")) for name in columns) for row in rows]
    return "\n".join(lines) + "\n"


def _cell(text):
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text


def write(path, *rows, columns=COLUMNS):
    path.write_text(report_text(*rows, columns=columns))
    return path


def run(*arguments):
    """Run the command; return its exit code, output and errors."""
    out, err = StringIO(), StringIO()
    try:
        call_command("import_settlement", *map(str, arguments), stdout=out, stderr=err)
    except CommandError as error:
        return error.returncode, out.getvalue(), f"{err.getvalue()}{error}"
    return 0, out.getvalue(), err.getvalue()


def stored():
    """Return what is held, as plain values."""
    return [
        (s.row_reference, s.revision, s.category, s.amount_minor_units, s.currency, s.operation_id)
        for s in Settlement.objects.order_by("row_reference", "revision")
    ]


def counts():
    return Settlement.objects.count(), SettlementFile.objects.count()
