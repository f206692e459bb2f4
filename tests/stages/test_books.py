"""The books in memory say what the same rows say in SQL, for every state of an operation and its entry."""

import pytest

from ledger.models import LedgerEntry
from ledger.snapshot import EntryKind, EntryStatus
from refunds.evidence.books import read_books
from refunds.evidence.remaining import Conservation, conservation_of
from refunds.states import UNRESOLVED_OPERATION_STATES, OperationState
from tests.factories import NOW, make_entry, operation_in_state

pytestmark = pytest.mark.django_db
_O = OperationState


def books_of(operation):
    return read_books(operation.workflow, now=NOW)


def entry_of(operation, *, status=EntryStatus.SUCCEEDED, **columns):
    """The ledger's own row about an operation's refund."""
    named = {"processor_reference": operation.processor_reference or "re_other", **columns}
    return make_entry(payment=operation.payment, kind=EntryKind.REFUND, status=status, **named)


def assert_same_sums(operation):
    books = books_of(operation)
    for left_out in (None, operation.pk):
        assert books.conservation_of(operation.payment_id, leaving_out_operation=left_out) == conservation_of(
            operation.payment_id, leaving_out_operation=left_out
        )


@pytest.mark.parametrize("state", _O)
@pytest.mark.parametrize("status", [None, *EntryStatus])
def test_a_payments_sums_are_those_of_the_one_statement(state, status):
    operation = operation_in_state(state)
    if status is not None:
        entry_of(operation, status=status)
    assert_same_sums(operation)


@pytest.mark.parametrize("kind", EntryKind)
def test_every_kind_of_entry_is_summed_alike(kind):
    operation = operation_in_state(_O.CREATED)
    for number, status in enumerate(EntryStatus, 1):
        make_entry(payment=operation.payment, kind=kind, status=status, amount_minor_units=number)
    assert_same_sums(operation)


def test_an_entry_of_another_amount_takes_nothing_off_an_operations_own():
    operation = operation_in_state(_O.COMPLETED)
    entry_of(operation, amount_minor_units=1000)
    assert_same_sums(operation)
    assert books_of(operation).conservation_of(operation.payment_id) == Conservation(4999, 1000, 0, 4999, 0)


def test_what_a_source_writes_after_the_entries_were_read_is_counted_as_the_operation():
    """Its entry is not among those that are summed, so the operation itself is: never neither."""
    operation = operation_in_state(_O.COMPLETED)
    books = books_of(operation)
    entry_of(operation)
    assert books.conservation_of(operation.payment_id).remaining == 0
    assert books.unsettled_payments() == {operation.payment_id}


@pytest.mark.parametrize("state", _O)
def test_a_payment_is_unsettled_while_its_operation_is_or_while_the_ledger_denies_its_completion(state):
    operation = operation_in_state(state)
    expected = {operation.payment_id} if state in UNRESOLVED_OPERATION_STATES | {_O.COMPLETED} else set()
    assert books_of(operation).unsettled_payments() == expected
    assert books_of(operation).unsettled_payments(leaving_out_operation=operation.pk) == set()


@pytest.mark.parametrize(("status", "unsettled"), [("SUCCEEDED", False), ("FAILED", True), ("PENDING", True)])
def test_a_completion_stands_by_its_entry(status, unsettled):
    operation = operation_in_state(_O.COMPLETED)
    entry_of(operation, status=status)
    assert bool(books_of(operation).unsettled_payments()) is unsettled


def test_the_currency_is_that_of_the_capture():
    operation = operation_in_state(_O.CREATED)
    books = books_of(operation)
    assert (
        books.capture_currency(operation.payment_id)
        == LedgerEntry.objects.get(payment=operation.payment).currency
    )
    assert books.capture_currency(0) == ""


def test_an_operation_on_a_payment_is_found_by_its_state():
    operation = operation_in_state(_O.SUBMITTED)
    books = books_of(operation)
    assert books.has_operation(operation.payment_id, _O.SUBMITTED)
    assert not books.has_operation(operation.payment_id, _O.SUBMITTED, other_than=operation.pk)
    assert not books.has_operation(operation.payment_id, _O.FAILED)
    assert not books.has_operation(operation.workflow.kept_payment_id, _O.SUBMITTED)
