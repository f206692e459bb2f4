"""Everything that the demo loads could really be sent to the provider."""

from datetime import UTC, datetime

import pytest

from config.demo.demo_data import build_demo_ledger
from refunds.gateways.registry import why_unsendable

LEDGER = build_demo_ledger(datetime(2026, 11, 28, 10, 0, tzinfo=UTC))
ACCOUNTS = {merchant["code"]: merchant.get("gateway_account", "") for merchant in LEDGER["merchants"]}
CAPTURES = [
    (order["number"], ACCOUNTS[order["merchant"]], payment["reference"], entry)
    for order in LEDGER["orders"]
    for payment in order["payments"]
    for entry in payment["entries"]
    if entry["kind"] == "CAPTURE"
]


def test_the_demo_has_charges_of_both_merchants_in_four_currencies():
    assert {account for _, account, _, _ in CAPTURES} == {"", "acct_1DemoNordlys"}
    assert {entry["currency"] for *_, entry in CAPTURES} == {"USD", "EUR", "JPY", "KWD"}


@pytest.mark.parametrize(
    ("account", "reference", "entry"), [row[1:] for row in CAPTURES], ids=[row[2] for row in CAPTURES]
)
def test_every_charge_could_be_refunded_at_the_provider(account, reference, entry):
    assert (
        why_unsendable(
            account=account,
            payment_reference=reference,
            amount_minor_units=entry["amount_minor_units"],
            currency=entry["currency"],
        )
        is None
    )
