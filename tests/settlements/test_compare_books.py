"""The nightly comparison over real rows: what is read, whom it asks, what it keeps, and that it mends nothing."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import ReviewCase
from ledger.actors import Actor
from ledger.models import AuditOutbox, Heartbeat, LedgerEntry, Payment, Settlement
from ledger.settlements.importing import ImportOptions, import_report
from ledger.transaction_guard import refuse_open_transaction
from refunds import tasks
from refunds.evidence.three_books import comparing, reading, recording
from refunds.evidence.three_books.comparing import ComparisonOrder, compare_books
from refunds.evidence.three_books.recording import CaseNotOpenError, explain_difference
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.port import ProviderStatus
from refunds.management.commands.import_settlement import OPERATION_COLUMN
from refunds.models import BookComparison, BookDifference, RefundOperation, RefundWorkflow
from refunds.states import CheckCause, OperationState
from tests.factories import NOW, make_entry, make_merchant, make_order, make_payment, operation_in_state
from tests.settlements.reports import write
from tests.stages.gateways import booked, listed

pytestmark = pytest.mark.django_db
DAY = NOW.date()
LATER = NOW + timedelta(days=3)


class Listing:
    """A provider that only lists: refunds by payment; ``unreadable`` payments give no whole list."""

    def __init__(self, *refunds, unreadable=()):
        self.refunds, self.unreadable, self.asked = list(refunds), set(unreadable), []

    def list_refunds(self, *, payment_reference, **_account):
        self.asked.append(payment_reference)
        found = [fact for fact in self.refunds if fact.payment_reference == payment_reference]
        return listed(*found, complete=payment_reference not in self.unreadable)


def completed(**columns):
    """Return a refund as the product leaves it, with its ledger entry."""
    operation = operation_in_state(OperationState.COMPLETED, **columns)
    make_entry(
        payment=operation.payment, kind="REFUND", amount_minor_units=operation.amount_minor_units,
        processor_reference=operation.processor_reference, currency=operation.currency, occurred_at=NOW,
    )  # fmt: skip
    return operation


def settled(operation, tmp_path, *rows, account=""):
    """Import a report with this refund in it, or with the given rows."""
    own = {
        "balance_transaction_id": f"txn_{operation.processor_reference}",
        "source_id": operation.processor_reference or "re_unknown",
        "charge_id": operation.payment_reference,
        "payment_intent_id": "",
        "created_utc": f"{NOW:%Y-%m-%d %H:%M:%S}",
        OPERATION_COLUMN: operation.pk,
    }
    last = {
        "balance_transaction_id": "txn_last", "reporting_category": "charge", "gross": "1.00",
        "created_utc": f"{NOW + timedelta(hours=12):%Y-%m-%d %H:%M:%S}",
    }  # fmt: skip
    merchant = operation.merchant
    done = import_report(
        write(tmp_path / "report.csv", *[own | row for row in rows or [{}]], last),
        options=ImportOptions(
            merchant=merchant.code, operation_column=OPERATION_COLUMN, account=account or None
        ),
        now=LATER,
        progress=print,
    )
    assert done.problems == []


def compare(operation, gateway=None, *, now=LATER, **order):
    return compare_books(
        ComparisonOrder(
            merchant=operation.merchant, books_of=DAY, gateway=gateway, contract=STRIPE_V1, **order
        ),
        clock=lambda: now,
    )


def provider_of(operation, **changed):
    facts = {"processor_reference": operation.processor_reference or "re_1", "created_at": NOW} | changed
    return booked(operation, **facts)


def found():
    rows = BookDifference.objects.order_by("comparison_id", "kind").values_list("kind", "operation_id")
    return [tuple(row) for row in rows]


def test_three_books_that_agree_differ_in_nothing(tmp_path):
    operation = completed()
    settled(operation, tmp_path)
    gateway = Listing(provider_of(operation))
    comparison = compare(operation, gateway)
    assert comparison.counts == {}
    assert (comparison.payments, comparison.asked, comparison.unread, comparison.foreign) == (1, 1, 0, 0)
    assert gateway.asked == [operation.payment_reference]
    assert comparison.settled_until == NOW + timedelta(hours=12)
    assert not ReviewCase.objects.exists()


def fingerprint_of_everything():
    """What a comparison must leave as it is."""
    return (
        list(RefundOperation.objects.order_by("pk").values()),
        list(RefundWorkflow.objects.order_by("pk").values()),
        list(LedgerEntry.objects.order_by("pk").values()),
        list(Settlement.objects.order_by("pk").values()),
        list(Payment.objects.order_by("pk").values()),
    )


@pytest.mark.failure("F050")
def test_every_difference_is_kept_and_brought_before_people_and_nothing_is_mended(tmp_path):
    operation = completed()
    settled(operation, tmp_path, {"gross": "-40.00"})
    before = fingerprint_of_everything()
    comparison = compare(operation, Listing())
    assert fingerprint_of_everything() == before
    assert comparison.counts == {"AMOUNT_DIFFERS": 1, "MISSING_AT_PROVIDER": 1}
    assert found() == [("AMOUNT_DIFFERS", operation.pk), ("MISSING_AT_PROVIDER", operation.pk)]
    cases = ReviewCase.objects.order_by("reason")
    assert [(c.kind, c.reason, c.merchant_id) for c in cases] == [
        ("FINANCE", "AMOUNT_DIFFERS", operation.merchant_id),
        ("FINANCE", "MISSING_AT_PROVIDER", operation.merchant_id),
    ]
    facts = BookDifference.objects.get(kind="AMOUNT_DIFFERS").facts
    assert facts["ours"]["amount_minor_units"] == 4999
    assert facts["settlement"]["out_minor_units"] == 4000
    event = AuditOutbox.objects.get(topic="books.compared")
    assert event.payload["differences"] == comparison.counts


def test_a_lost_answer_that_was_settled_is_found_by_our_own_id(tmp_path):
    operation = operation_in_state(OperationState.MANUAL_REVIEW)
    settled(operation, tmp_path, {"source_id": "re_lost"})
    assert compare(operation).counts == {"STATUS_DIFFERS": 1}
    assert RefundOperation.objects.get().state == "MANUAL_REVIEW"


def test_an_operation_that_failed_here_and_was_paid_out_is_found(tmp_path):
    operation = operation_in_state(OperationState.REJECTED)
    settled(operation, tmp_path, {"source_id": "re_paid"})
    assert compare(operation).counts == {"FAILED_BUT_SETTLED": 1}


def test_a_completed_refund_that_a_source_denies_is_found_whatever_the_provider_lists():
    operation = completed()
    LedgerEntry.objects.filter(processor_reference=operation.processor_reference).update(status="FAILED")
    assert compare(operation).counts == {"STATUS_DIFFERS": 1}
    assert BookDifference.objects.get().facts["ours"]["entry"] == "GONE"
    for status in (ProviderStatus.SUCCEEDED, ProviderStatus.FAILED):
        gateway = Listing(provider_of(operation, status=status, provider_status=status.lower()))
        assert compare(operation, gateway, cause=CheckCause.PERSON).counts == {"STATUS_DIFFERS": 1}


def test_a_refund_that_came_back_by_the_report_is_found(tmp_path):
    operation = completed()
    back = {"reporting_category": "refund_failure", "gross": "49.99", "balance_transaction_id": "txn_back"}
    settled(operation, tmp_path, {}, back)
    assert compare(operation).counts == {"COMPLETED_BUT_RETURNED": 1}


def test_a_refund_that_reports_reach_over_and_do_not_have_is_missing_in_them(tmp_path):
    operation = completed()
    before = f"{NOW - timedelta(hours=1):%Y-%m-%d %H:%M:%S}"
    settled(operation, tmp_path, {"reporting_category": "charge", "gross": "1.00", "created_utc": before})
    assert compare(operation).counts == {"MISSING_IN_SETTLEMENT": 1}


def test_refunds_of_before_the_first_report_are_not_missing_in_it(tmp_path):
    operation = completed()
    after = f"{NOW + timedelta(hours=1):%Y-%m-%d %H:%M:%S}"
    settled(operation, tmp_path, {"reporting_category": "charge", "gross": "1.00", "created_utc": after})
    assert compare(operation).counts == {}


@pytest.mark.parametrize("sql", [reading._IN_WINDOW, reading._FOREIGN])
def test_what_a_night_reads_is_found_by_indexes(sql):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {sql}", reading.Window(1, NOW, LATER).as_parameters())
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Seq Scan" not in plan, plan


def test_the_lines_of_a_payment_are_found_among_all_of_its_merchant(tmp_path):
    """However many lines the merchant has, only those of the payments that are read are touched."""
    operation = completed()
    settled(operation, tmp_path)
    row = Settlement.objects.get()
    Settlement.objects.bulk_create(
        Settlement(
            merchant=row.merchant, file=row.file, report=row.report, row_reference=f"txn_{n}", category="REFUND",
            processor_reference=f"re_{n}", payment_reference=f"ch_of_{n}", intent_reference=f"pi_of_{n}",
            operation_id=f"rfop_of_{n}", amount_minor_units=1, currency="USD", settled_minor_units=1,
            settled_currency="USD", booked_at=NOW, imported_at=NOW,
        )
        for n in range(3000)
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE ledger_settlements")
    with CaptureQueriesContext(connection) as captured:
        ((_, books),) = reading.read_books([operation.payment_id], reach={}, until=LATER)
    assert [line.row_reference for line in books.settled] == [row.row_reference]
    (asked,) = [q["sql"] for q in captured if 'FROM "ledger_settlements"' in q["sql"]]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {asked}")
        (plan,) = cursor.fetchone()
    assert most_rows(plan[0]["Plan"]) <= 4, plan


def most_rows(node):
    """Return the most rows that any step of a plan read, those that it threw away included."""
    read = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return max([read, *(most_rows(below) for below in node.get("Plans", []))])


def test_without_reports_nothing_is_missing_in_them():
    operation = completed()
    comparison = compare(operation)
    assert (comparison.counts, comparison.settled_until) == ({}, None)


def test_a_refund_of_the_dashboard_that_nobody_adopted_is_missing_with_us():
    operation = completed()
    foreign = provider_of(operation, processor_reference="re_dash", operation_id=None, amount_minor_units=1)
    comparison = compare(operation, Listing(provider_of(operation), foreign))
    assert comparison.counts == {"MISSING_OURS": 1}
    make_entry(
        payment=operation.payment, kind="REFUND", processor_reference="re_dash", amount_minor_units=1,
        occurred_at=NOW,
    )  # fmt: skip
    again = compare(operation, Listing(provider_of(operation), foreign), cause=CheckCause.PERSON)
    assert again.counts == {}


def test_what_is_of_a_payment_that_is_not_held_is_counted_and_opens_no_case(tmp_path):
    operation = completed()
    elsewhere = {
        "charge_id": "ch_of_nobody", "source_id": "re_x", "balance_transaction_id": "txn_x", OPERATION_COLUMN: "",
    }  # fmt: skip
    settled(operation, tmp_path, {}, elsewhere)
    comparison = compare(operation)
    assert (comparison.counts, comparison.foreign) == ({}, 1)


def test_an_incomplete_list_means_nothing():
    operation = completed()
    comparison = compare(operation, Listing(unreadable=[operation.payment_reference]))
    assert (comparison.counts, comparison.asked, comparison.unread) == ({}, 1, 1)


def test_the_provider_is_asked_about_no_more_payments_than_the_limit():
    first = completed()
    order = make_order(customer=first.workflow.customer)
    payments = [make_payment(order=order) for _ in range(3)]
    for payment in payments:
        make_entry(payment=payment, kind="REFUND", amount_minor_units=1, occurred_at=NOW)
    gateway = Listing(provider_of(first))
    comparison = compare(first, gateway, most_asked=2)
    assert (comparison.asked, comparison.not_asked, len(gateway.asked)) == (2, 2, 2)


def test_an_older_payment_is_asked_about_only_if_its_books_differ(tmp_path):
    operation = completed(now=NOW - timedelta(days=5))
    LedgerEntry.objects.filter(kind="REFUND").update(occurred_at=NOW - timedelta(days=5))
    gateway = Listing(provider_of(operation))
    assert compare(operation, gateway).asked == 0
    earlier = f"{NOW - timedelta(days=5):%Y-%m-%d %H:%M:%S}"
    settled(operation, tmp_path, {"gross": "-1.00", "created_utc": earlier})
    assert compare(operation, gateway, cause=CheckCause.PERSON).asked == 1


def test_a_second_night_opens_no_second_case(tmp_path):
    operation = completed()
    settled(operation, tmp_path, {"gross": "-40.00"})
    for night in range(2):
        compare(operation, now=LATER + timedelta(days=night), cause=CheckCause.PERSON)
    assert len(found()) == 2
    case = ReviewCase.objects.get()
    explain_difference(
        case=case, actor=Actor.staff(7), reason_code="BANK_FEE", note="The bank kept a fee.", now=LATER
    )
    with pytest.raises(CaseNotOpenError):
        explain_difference(case=case, actor=Actor.staff(7), reason_code="BANK_FEE", note="", now=LATER)
    compare(operation, now=LATER + timedelta(days=2), cause=CheckCause.PERSON)
    assert ReviewCase.objects.get().closed_because == "BANK_FEE"
    event = AuditOutbox.objects.get(topic="books.difference_explained")
    assert (event.payload["kind"], "note" in str(event.payload)) == ("AMOUNT_DIFFERS", True)
    assert "bank kept" not in str(event.payload)


def test_a_difference_whose_facts_change_after_it_was_explained_is_shown_again():
    operation = completed()
    other = provider_of(operation, amount_minor_units=4000)
    compare(operation, Listing(other), cause=CheckCause.PERSON)
    explain_difference(
        case=ReviewCase.objects.get(), actor=Actor.staff(7), reason_code="KNOWN", note="", now=LATER
    )
    compare(operation, Listing(other), cause=CheckCause.PERSON)
    assert ReviewCase.objects.count() == 1
    worse = provider_of(operation, amount_minor_units=3000)
    compare(operation, Listing(worse), now=LATER + timedelta(days=1), cause=CheckCause.PERSON)
    assert ReviewCase.objects.filter(closed_at__isnull=True).count() == 1
    assert ReviewCase.objects.count() == 2


def test_the_scheduled_comparison_of_a_day_is_kept_once():
    operation = completed()
    assert compare(operation) is not None
    assert compare(operation) is None
    assert compare(operation, cause=CheckCause.PERSON) is not None
    assert BookComparison.objects.count() == 2


def test_what_the_facts_overdraw_is_frozen_on_the_way(monkeypatch):
    operation = completed()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE ledger_entries DISABLE TRIGGER USER")
        make_entry(payment=operation.payment, kind="REFUND", amount_minor_units=1, occurred_at=NOW)
        cursor.execute("ALTER TABLE ledger_entries ENABLE TRIGGER USER")
    compare(operation)
    assert Payment.objects.get(pk=operation.payment_id).frozen_at == LATER


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_the_provider_is_asked():
    operation = completed()

    class Strict(Listing):
        def list_refunds(self, **asked):
            refuse_open_transaction()
            return super().list_refunds(**asked)

    assert compare(operation, Strict(provider_of(operation))).asked == 1


def test_the_number_of_queries_does_not_grow_with_the_number_of_refunds():
    def queries(count):
        merchant = make_merchant()
        for _ in range(count):
            payment = make_payment(order=make_order(merchant=merchant))
            make_entry(payment=payment, kind="REFUND", amount_minor_units=1, occurred_at=NOW)
        order = ComparisonOrder(merchant=merchant, books_of=DAY, gateway=None, contract=STRIPE_V1)
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert compare_books(order, clock=lambda: LATER).payments == count
        return len(captured)

    assert queries(1) == queries(40)


def test_what_is_kept_at_once_is_bounded(monkeypatch):
    monkeypatch.setattr(comparing, "MOST_KEPT", 1)
    operation = completed()
    foreign = [
        provider_of(operation, processor_reference=f"re_{n}", operation_id=None, amount_minor_units=1)
        for n in range(3)
    ]
    comparison = compare(operation, Listing(provider_of(operation), *foreign))
    assert (comparison.capped, comparison.counts) == (True, {"MISSING_OURS": 1})


def test_a_comparison_that_ends_early_keeps_nothing(monkeypatch):
    operation = completed()

    def fail(*_args, **_kwargs):
        raise RuntimeError

    monkeypatch.setattr(recording, "append_audit_event", fail)
    with pytest.raises(RuntimeError):
        compare(operation, Listing(provider_of(operation, amount_minor_units=1)))
    assert not BookComparison.objects.exists()
    assert not BookDifference.objects.exists()
    assert not ReviewCase.objects.exists()


@pytest.mark.parametrize(
    ("hour", "days_back"), [(11, 3), (12, 2), (23, 2)]
)  # a day's reports are there at noon of the day after the next midnight
def test_the_newest_day_is_the_last_whose_reports_can_be_there(hour, days_back):
    now = NOW.replace(hour=hour)
    assert comparing.newest_comparable_day(now, STRIPE_V1) == now.date() - timedelta(days=days_back)


def test_the_task_compares_each_merchant_once_and_shows_that_it_runs(monkeypatch):
    operation = completed()
    make_merchant()  # without refunds: nothing to compare
    gateway = Listing(provider_of(operation, amount_minor_units=1))
    monkeypatch.setattr(tasks, "get_gateway", lambda: gateway)
    monkeypatch.setattr(tasks, "now_utc", lambda: LATER)
    tasks.compare_books()
    tasks.compare_books()
    comparison = BookComparison.objects.get()
    assert (comparison.merchant_id, comparison.cause) == (operation.merchant_id, "SCHEDULED")
    assert Heartbeat.objects.get(name="compare_books").summary == {"found": 0}


def test_a_merchant_whose_books_cannot_be_compared_keeps_nobody_else_waiting(monkeypatch):
    first, second = completed(), completed()
    monkeypatch.setattr(tasks, "get_gateway", Listing)
    monkeypatch.setattr(tasks, "now_utc", lambda: LATER)
    compare_one = comparing.compare_books

    def failing_for_the_first(order, **more):
        if order.merchant == first.merchant:
            raise OverflowError("a date of this merchant")
        return compare_one(order, **more)

    monkeypatch.setattr(comparing, "compare_books", failing_for_the_first)
    with pytest.raises(OverflowError):
        tasks.compare_books()
    assert list(BookComparison.objects.values_list("merchant", flat=True)) == [second.merchant_id]
    assert Heartbeat.objects.filter(name="compare_books").exists()


def run(*arguments):
    out, err = StringIO(), StringIO()
    try:
        call_command("compare_books", *map(str, arguments), stdout=out, stderr=err)
    except CommandError as error:
        return error.returncode, out.getvalue(), f"{err.getvalue()}{error}"
    return 0, out.getvalue(), err.getvalue()


def test_the_command_lists_what_differs_with_its_tickets(tmp_path, monkeypatch):
    operation = completed()
    settled(operation, tmp_path, {"gross": "-40.00"})
    monkeypatch.setattr("refunds.management.commands.compare_books.now_utc", lambda: LATER)
    code, out, err = run("--offline", "--date", DAY, "--merchant", operation.merchant.code)
    case = ReviewCase.objects.get()
    assert (code, err.splitlines()[-1]) == (1, "1 differences; nothing was changed")
    about = f"{operation.processor_reference} of {operation.pk} on {operation.payment_reference}"
    assert f"  AMOUNT_DIFFERS: {about}, ticket #{case.ticket}" in out.splitlines()
    assert BookComparison.objects.get().cause == "PERSON"


def test_the_command_says_that_the_books_agree(monkeypatch):
    completed()
    monkeypatch.setattr("refunds.management.commands.compare_books.now_utc", lambda: LATER)
    code, out, _ = run("--offline")
    assert (code, out.splitlines()[-1]) == (0, "the books agree")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--merchant", "nobody", "--offline"), "no merchant has the code nobody"),
        (("--offline",), "there is no merchant yet"),
        (("--date", "2999-01-01", "--offline"), "2999-01-01 is not over yet"),
    ],
)
def test_what_cannot_be_compared_exits_with_two(arguments, says):
    code, _, err = run(*arguments)
    assert (code, err) == (2, says)


def test_a_process_without_credentials_says_so(settings):
    settings.STRIPE_API_KEY = ""
    from refunds.gateways.registry import get_gateway  # noqa: PLC0415

    get_gateway.cache_clear()
    make_merchant()
    code, _, err = run()
    assert (code, "--offline asks nothing" in err) == (2, True)


@pytest.mark.parametrize("day", ["yesterday", "", "0001-01-02", "1999-12-31", "2026-02-30"])
def test_a_day_that_is_none_is_a_clear_error(day):
    with pytest.raises(CommandError, match="must be a day such as 2026-11-28"):
        call_command("compare_books", "--date", day)


def test_fewer_than_no_payments_cannot_be_asked_about():
    make_merchant()
    code, _, err = run("--offline", "--date", "2026-11-27", "--most-asked", "-1")
    assert (code, err) == (2, "--most-asked must be 0 or more")
