from dataclasses import asdict

import pytest

from refunds.selectors.review_charges import LedgerRow, changes_since, compare_charges, money_text


def payment(pk=1, **changes):
    return {
        "payment_id": pk,
        "processor_reference": f"ch_{pk}",
        "account": "",
        "method_type": "card",
        "method_fingerprint": "fp_1",
        "method_last4": "4242",
        "created_at": "2026-11-28T09:58:02+00:00",
        "entries": [entry(reference=f"ch_{pk}")],
    } | changes


def entry(*, reference="ch_1", kind="CAPTURE", status="SUCCEEDED", amount=14_900, currency="USD", **changes):
    return {
        "kind": kind,
        "processor_reference": reference,
        "amount_minor_units": amount,
        "currency": currency,
        "status": status,
        "occurred_at": "2026-11-28T09:58:02+00:00",
        "seen_count": 1,
    } | changes


def compare(*payments, kept=None, target=None):
    return compare_charges(
        {"order": {"payments": list(payments)}}, kept_payment_id=kept, target_payment_id=target
    )


def rows(comparison):
    return {row.name: (row.values, row.comparison) for row in comparison.rows}


def test_two_equal_charges_agree_in_everything_but_their_times():
    later = payment(2, entries=[entry(reference="ch_2", occurred_at="2026-11-28T09:58:41+00:00")])
    table = rows(compare(payment(1), later, kept=1, target=2))
    assert table["Amount"] == (("$149.00 (14900 USD minor units)",) * 2, "same")
    assert table["Charged at"] == (
        ("28 Nov 2026, 09:58:02 UTC", "28 Nov 2026, 09:58:41 UTC"),
        "39 s apart",
    )
    assert table["Paid with"] == (("card ending 4242",) * 2, "same")
    assert table["Status"] == (("captured",) * 2, "same")
    assert table["Refunded or reversed"] == (("none",) * 2, "same")
    assert "differs" not in {comparison for _, comparison in table.values()}


def test_the_charge_that_stays_is_first_and_the_target_is_marked():
    columns = compare(payment(9), payment(2), payment(1), kept=2, target=1).columns
    assert [(c.label, c.reference, c.is_kept, c.is_target) for c in columns] == [
        ("Charge A", "ch_2", True, False),
        ("Charge B", "ch_1", False, True),
        ("Charge C", "ch_9", False, False),
    ]


@pytest.mark.parametrize(
    ("changes", "row", "shown"),
    [
        ({"entries": [entry(kind="AUTHORISATION")]}, "Status", "hold only, not captured"),
        ({"entries": [entry(status="PENDING")]}, "Status", "captured: pending"),
        ({"entries": [entry(currency="EUR")]}, "Amount", "€149.00 (14900 EUR minor units)"),
        ({"entries": [entry(amount=14_901)]}, "Amount", "$149.01 (14901 USD minor units)"),
        ({"entries": [entry(currency="JPY", amount=500)]}, "Amount", "¥500 (500 JPY minor units)"),
        ({"method_last4": "1111"}, "Paid with", "card ending 1111"),
        ({"method_fingerprint": None}, "Method fingerprint", "-"),
        ({"account": "acct_2"}, "Provider account", "acct_2"),
        (
            {"entries": [entry(), entry(reference="re_1", kind="REFUND", amount=500)]},
            "Refunded or reversed",
            "REFUND re_1 of $5.00, SUCCEEDED",
        ),
        (
            {"entries": [entry(), entry(reference="dp_1", kind="DISPUTE", status="OPEN")]},
            "Disputes",
            "DISPUTE dp_1 of $149.00, OPEN",
        ),
        ({"entries": [entry(seen_count=3)]}, "Times listed by the source", "3"),
    ],
)
def test_what_differs_is_said_so(changes, row, shown):
    values, comparison = rows(compare(payment(1), payment(1, **changes), kept=1))[row]
    assert values[1] == shown
    assert comparison == "differs"


def test_refunds_that_moved_no_money_are_not_listed_as_returned():
    failed = entry(reference="re_1", kind="REFUND", status="FAILED")
    values, comparison = rows(compare(payment(1), payment(2, entries=[entry(), failed])))[
        "Refunded or reversed"
    ]
    assert (values, comparison) == (("none", "none"), "same")


def test_one_charge_or_none_is_compared_with_nothing():
    assert {row.comparison for row in compare(payment(1)).rows} == {"-"}
    assert compare().columns == ()


def test_a_charge_without_rows_is_shown_and_breaks_nothing():
    values, _ = rows(compare(payment(1, entries=[]), payment(2)))["Amount"]
    assert values == ("-", "$149.00 (14900 USD minor units)")


def test_an_unknown_currency_leaves_the_minor_units():
    assert money_text(500, "XQX") == "500 minor units of XQX"


def as_now(*entries, payment_reference="ch_1"):
    return [
        LedgerRow(
            payment_reference,
            e["processor_reference"],
            e["kind"],
            e["status"],
            e["amount_minor_units"],
            e["currency"],
        )
        for e in entries
    ]


def test_every_change_of_the_ledger_since_the_snapshot_is_one_line():
    then = [
        entry(),
        entry(reference="re_1", kind="REFUND", status="PENDING", amount=100),
        entry(reference="x"),
    ]
    now = [
        entry(),
        entry(reference="re_1", kind="REFUND", amount=100),
        entry(reference="dp_1", kind="DISPUTE", status="OPEN"),
    ]
    snapshot = {"order": {"payments": [payment(1, entries=then)]}}
    assert changes_since(snapshot, as_now(*now)) == (
        "New: DISPUTE dp_1 of $149.00, OPEN",
        "Was PENDING: REFUND re_1 of $1.00, SUCCEEDED",
        "No longer there: CAPTURE x of $149.00, SUCCEEDED",
    )


def test_the_requests_own_refund_is_no_change_of_its_evidence():
    snapshot = {"order": {"payments": [payment(1)]}}
    own, other = (entry(reference=ref, kind="REFUND") for ref in ("re_own", "re_other"))
    assert changes_since(snapshot, as_now(entry(), own, other), own_refunds=frozenset({"re_own"})) == (
        "New: REFUND re_other of $149.00, SUCCEEDED",
    )


def test_an_unchanged_ledger_has_no_lines():
    snapshot = {"order": {"payments": [payment(1)]}}
    assert changes_since(snapshot, as_now(entry())) == ()
    assert asdict(as_now(entry())[0])["amount_minor_units"] == 14_900
