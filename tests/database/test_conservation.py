"""The guard on what is decided: PostgreSQL's sums are the Python's, and no fact is ever refused."""

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.models import LedgerEntry, Payment
from ledger.snapshot import UNNAMED_REFUND, EntryKind, EntryStatus
from refunds.evidence.remaining import conservation_of
from refunds.models import RefundOperation
from refunds.models.conservation import sums_of
from refunds.selectors.invariant_checks import OVERDRAWN_PAYMENTS, PARAMETERS
from refunds.states import OperationState
from tests.factories import make_entry, make_order, make_payment, move_operation, operation_in_state
from tests.support.committed_facts import facts_committed

pytestmark = [pytest.mark.django_db, pytest.mark.failure("F041")]

KINDS = st.sampled_from(
    [EntryKind.AUTHORISATION, EntryKind.CAPTURE, EntryKind.REFUND, EntryKind.REVERSAL, EntryKind.DISPUTE]
)
ENTRIES = st.lists(
    st.tuples(KINDS, st.sampled_from(list(EntryStatus)), st.integers(1, 9000), st.booleans()), max_size=6
)


def sql_sums(payment_id, leaving_out=""):
    with connection.cursor() as cursor:
        cursor.execute(sums_of("%s", leaving_out="%s"), [payment_id, payment_id, leaving_out])
        names = [column.name for column in cursor.description]
        return dict(zip(names, map(int, cursor.fetchone()), strict=True))


def with_entries(operation, entries):
    """Add entries to the operation's payment; some under the provider's reference of the operation itself."""
    named = False
    for number, (kind, status, amount, ours) in enumerate(entries):
        reference = {}
        if ours and not named and operation.processor_reference:
            reference, named = {"processor_reference": operation.processor_reference}, True
        elif kind is EntryKind.REFUND and amount % 3 == 0:
            unnamed = f"{operation.payment.processor_reference}{UNNAMED_REFUND}{number}"
            reference = {"processor_reference": unnamed}
        as_ordered = reference and amount % 2
        make_entry(
            payment=operation.payment,
            kind=kind,
            status=status,
            amount_minor_units=operation.amount_minor_units if as_ordered else amount,
            **reference,
        )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=ENTRIES, state=st.sampled_from(list(OperationState)), alone=st.booleans())
def test_the_sums_of_postgresql_are_the_sums_of_python(entries, state, alone):
    with transaction.atomic():
        operation = operation_in_state(state)
        with_entries(operation, entries)
        left_out = operation.pk if alone else None
        found = sql_sums(operation.payment_id, left_out or "")
        money = conservation_of(operation.payment_id, leaving_out_operation=left_out)
        assert found == {
            "captured": money.captured,
            "returned": money.refunded + money.pending,
            "disputed": money.disputed,
            "reserved": money.reserved,
            "reversed": money.reversed,
            "held": money.held,
            "voided": money.voided,
            "unnamed": money.unnamed,
            "remaining": money.remaining,
            "overdrawn": money.overdrawn,
        }
        transaction.set_rollback(True)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=ENTRIES, beyond=st.integers(-2, 2))
def test_an_operation_begins_exactly_when_as_much_is_left(entries, beyond):
    """A CREATED operation is submitted, whatever was booked since, if and only if the sums bear its amount."""
    with transaction.atomic():
        operation = operation_in_state(OperationState.CREATED)
        with_entries(operation, entries)
        rest = conservation_of(operation.payment_id, leaving_out_operation=operation.pk).remaining
        missing = operation.amount_minor_units + beyond - rest
        if missing < 0:
            make_entry(payment=operation.payment, kind=EntryKind.REFUND, amount_minor_units=-missing)
        elif missing > 0:
            make_entry(payment=operation.payment, kind=EntryKind.CAPTURE, amount_minor_units=missing)
        facts_committed()
        payment = Payment.objects.get(pk=operation.payment_id)
        money = conservation_of(payment.pk, leaving_out_operation=operation.pk)
        assert money.remaining == operation.amount_minor_units + beyond
        if beyond < 0 or payment.frozen_at is not None:
            with pytest.raises(IntegrityError, match=r"left, and operation|is frozen"), transaction.atomic():
                move_operation(operation, OperationState.SUBMITTED)
        else:
            move_operation(operation, OperationState.SUBMITTED)
        transaction.set_rollback(True)


def test_no_operation_is_created_beyond_what_is_left():
    operation = operation_in_state(OperationState.CANCELLED)
    make_entry(payment=operation.payment, kind=EntryKind.REFUND, amount_minor_units=1)
    with pytest.raises(IntegrityError, match="has 4998 left"), transaction.atomic():
        again(operation)


def test_an_amount_that_is_left_is_enough():
    operation = operation_in_state(OperationState.CANCELLED)
    with transaction.atomic():
        again(operation)
        transaction.set_rollback(True)


def again(operation):
    """Insert a second operation like the first, as SQL that goes round the code would."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO refund_operations (id, workflow_id, approval_id, merchant_id, account, payment_id,
                payment_reference, amount_minor_units, currency, reason_code, idempotency_key,
                request_fingerprint, policy_version, policy_id, state, state_sequence, checks_made, created_at,
                updated_at)
            SELECT 'rfop_second', workflow_id, 'apr_second', merchant_id, account, payment_id, payment_reference,
                amount_minor_units, currency, reason_code, 'refund:rfop_second', 'second', policy_version,
                policy_id, 'CREATED', 1, 0, now(), now()
            FROM refund_operations WHERE id = %s
            """,
            [operation.pk],
        )


@pytest.mark.parametrize("state", [s for s in OperationState if s is not OperationState.CREATED])
def test_no_fact_about_an_operation_is_refused(state):
    """Whatever is booked, every move that tells what happened is taken; only a submission is a decision."""
    operation = operation_in_state(OperationState.SUBMITTED)
    make_entry(payment=operation.payment, kind=EntryKind.DISPUTE, status="OPEN", amount_minor_units=999_999)
    facts_committed()
    assert Payment.objects.get(pk=operation.payment_id).frozen_at is not None
    route = {
        OperationState.SUBMITTED: (),
        OperationState.CONFIRMED_ABSENT: (OperationState.STATUS_UNKNOWN, OperationState.CONFIRMED_ABSENT),
        OperationState.MANUAL_REVIEW: (OperationState.STATUS_UNKNOWN, OperationState.MANUAL_REVIEW),
        OperationState.CANCELLED: (
            OperationState.STATUS_UNKNOWN,
            OperationState.MANUAL_REVIEW,
            OperationState.CANCELLED,
        ),
    }.get(state, (state,))
    for step in route:
        move_operation(operation, step)
    assert RefundOperation.objects.get(pk=operation.pk).state == state


def frozen(payment):
    facts_committed()
    return Payment.objects.get(pk=payment.pk).frozen_reason


@pytest.mark.parametrize("kind", [EntryKind.REFUND, EntryKind.DISPUTE, EntryKind.REVERSAL])
def test_the_fact_that_overdraws_a_payment_lands_and_freezes_it(kind):
    payment = make_payment(order=make_order())
    status = EntryStatus.OPEN if kind is EntryKind.DISPUTE else EntryStatus.SUCCEEDED
    entry = make_entry(payment=payment, kind=kind, status=status, amount_minor_units=4999)
    assert frozen(payment) == ""
    make_entry(payment=payment, kind=kind, status=status, amount_minor_units=1)
    assert frozen(payment) == "OVERDRAWN"
    assert LedgerEntry.objects.filter(payment=payment).count() == 3
    assert entry.pk


@pytest.mark.parametrize(
    ("first", "then"),
    [(EntryStatus.FAILED, EntryStatus.SUCCEEDED), (EntryStatus.CANCELED, EntryStatus.PENDING)],
)
def test_a_status_that_changes_freezes_too(first, then):
    payment = make_payment(order=make_order())
    entry = make_entry(payment=payment, kind=EntryKind.REFUND, status=first, amount_minor_units=5000)
    assert frozen(payment) == ""
    entry.status = then
    entry.save(update_fields=["status"])
    assert frozen(payment) == "OVERDRAWN"


def test_a_capture_that_the_bank_took_back_freezes_what_was_refunded():
    payment = make_payment(order=make_order())
    make_entry(payment=payment, kind=EntryKind.REFUND, amount_minor_units=4999)
    LedgerEntry.objects.filter(payment=payment, kind=EntryKind.CAPTURE).update(status=EntryStatus.FAILED)
    assert frozen(payment) == "OVERDRAWN"


@pytest.mark.parametrize("kind", [EntryKind.REVERSAL, EntryKind.REFUND])
def test_a_hold_that_was_released_freezes_nothing(kind):
    """The provider may book the release of what was never captured as a refund."""
    payment = make_payment(order=make_order(), captured=False)
    make_entry(payment=payment, kind=kind, amount_minor_units=4999)
    assert frozen(payment) == ""
    make_entry(payment=payment, kind=EntryKind.REFUND, amount_minor_units=1)
    assert frozen(payment) == "OVERDRAWN"


def test_the_rest_of_a_hold_that_was_released_freezes_nothing_and_is_not_refundable():
    payment = make_payment(order=make_order(), amount_minor_units=3000)
    make_entry(payment=payment, kind=EntryKind.AUTHORISATION, amount_minor_units=4999)
    make_entry(payment=payment, kind=EntryKind.REVERSAL, amount_minor_units=1999)
    assert frozen(payment) == ""
    assert conservation_of(payment.pk).remaining == 1001
    make_entry(payment=payment, kind=EntryKind.REFUND, amount_minor_units=3000)
    assert frozen(payment) == ""
    make_entry(payment=payment, kind=EntryKind.REFUND, amount_minor_units=1)
    assert frozen(payment) == "OVERDRAWN"


def test_an_abandoned_operation_that_moved_money_after_all_freezes_the_payment():
    operation = operation_in_state(OperationState.FAILED)
    make_entry(payment=operation.payment, kind=EntryKind.REFUND, amount_minor_units=4999)
    assert frozen(operation.payment) == ""
    move_operation(operation, OperationState.MANUAL_REVIEW)
    assert frozen(operation.payment) == "OVERDRAWN"


def test_the_scheduled_check_starts_from_the_newest_rows_and_reads_no_table_from_end_to_end():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {OVERDRAWN_PAYMENTS}", PARAMETERS)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Seq Scan" not in plan, plan
    assert plan.count("Limit") == 3, plan


@pytest.mark.parametrize("first", [EntryKind.REFUND, EntryKind.CAPTURE])
def test_in_which_order_a_file_has_its_facts_freezes_nothing(first):
    """A refund may be written before its charge; what counts is what the transaction leaves."""
    payment = make_payment(order=make_order(), captured=False)
    kinds = [EntryKind.REFUND, EntryKind.CAPTURE]
    for kind in kinds if first is EntryKind.REFUND else reversed(kinds):
        make_entry(payment=payment, kind=kind, amount_minor_units=4999)
    assert frozen(payment) == ""


def test_a_refund_that_was_only_counted_is_not_counted_twice_once_it_is_named():
    payment = make_payment(order=make_order())
    counted = make_entry(
        payment=payment, kind=EntryKind.REFUND, amount_minor_units=4999,
        processor_reference=f"{payment.processor_reference}#refunded:4999",
    )  # fmt: skip
    make_entry(payment=payment, kind=EntryKind.REFUND, amount_minor_units=4999)
    counted.status = EntryStatus.CANCELED
    counted.save(update_fields=["status"])
    assert frozen(payment) == ""
