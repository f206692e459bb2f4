"""Facts that overdraw a payment land, freeze it, and wake people; a person releases it once the facts bear it again."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from approvals.models import ReviewCase
from ledger.actors import Actor
from ledger.models import AuditOutbox, ErasableText, LedgerEntry, Payment
from ledger.snapshot import UNNAMED_REFUND, EntryStatus
from refunds import pipeline, tasks
from refunds.evidence.frozen import (
    NotFrozenError,
    StillOverdrawnError,
    release_payment,
    report_frozen,
)
from refunds.evidence.remaining import conservation_of
from refunds.models import GatewayAttempt, RefundOperation, RefundWorkflow
from refunds.selectors.scoreboard import ask_invariants
from refunds.stages.s10_submit_refund import NotBegun
from refunds.states import OperationState, WorkflowState
from tests.factories import (
    NOW,
    make_entry,
    make_order,
    make_payment,
    operation_in_state,
    workflow_in_state,
)
from tests.stages.gateways import fake_gateway_for, submit
from tests.support.committed_facts import facts_committed

pytestmark = pytest.mark.django_db
PERSON = Actor.staff(7)


def now_of(payment):
    facts_committed()
    return Payment.objects.get(pk=payment.pk)


def dispute(payment, amount=4999, status=EntryStatus.OPEN):
    return make_entry(payment=payment, kind="DISPUTE", status=status, amount_minor_units=amount)


def won(entry):
    entry.status = EntryStatus.WON
    entry.save(update_fields=["status"])


def frozen_by_what_failed_later(payment):
    """Freeze the payment by a refund of the dashboard that then fails: the facts bear a refund again."""
    entry = make_entry(payment=payment, kind="REFUND", amount_minor_units=5000)
    assert now_of(payment).frozen_at is not None
    entry.status = EntryStatus.FAILED
    entry.save(update_fields=["status"])


def overdrawn():
    """Return a payment that was refunded in full and then charged back."""
    payment = make_payment(order=make_order())
    make_entry(payment=payment, kind="REFUND", amount_minor_units=4999)
    bank = dispute(payment)
    facts_committed()
    return payment, bank


@pytest.mark.failure("F027")
def test_a_chargeback_after_the_refund_freezes_the_payment_and_opens_one_case(caplog):
    payment, _ = overdrawn()
    assert report_frozen(now=NOW) == 1
    assert report_frozen(now=NOW + timedelta(minutes=1)) == 1
    case = ReviewCase.objects.get()
    assert (case.kind, case.reason, case.subject_id) == ("FINANCE", "PAYMENT_FROZEN", f"payment:{payment.pk}")
    event = AuditOutbox.objects.get(topic="payment.frozen")
    assert event.payload["sums"]["remaining"] == -4999
    assert [r.levelname for r in caplog.records if "payment.frozen" in r.getMessage()] == ["ERROR"]


@pytest.mark.failure("F027")
def test_a_frozen_payment_waits_even_after_the_facts_bear_it_again():
    operation = operation_in_state(OperationState.CREATED)
    gateway = fake_gateway_for(operation)
    frozen_by_what_failed_later(operation.payment)
    assert submit(operation, gateway) == NotBegun("PAYMENT_FROZEN")
    waiting = RefundOperation.objects.get()
    assert (waiting.state, waiting.next_attempt_at) == ("CREATED", NOW + timedelta(seconds=30))
    assert gateway.submissions == []
    release_payment(payment_id=operation.payment_id, reason="The bank gave it back.", actor=PERSON, now=NOW)
    later = NOW + timedelta(seconds=31)
    submit(operation, gateway, now=later)
    assert RefundOperation.objects.get().state == "COMPLETED"


@pytest.mark.failure("F002")
def test_an_unnamed_refund_that_may_be_our_own_freezes_nothing_and_still_holds_money_back():
    operation = operation_in_state(OperationState.STATUS_UNKNOWN)
    payment = operation.payment
    counted_without_name(payment, operation.amount_minor_units)
    assert now_of(payment).frozen_at is None
    assert conservation_of(payment.pk).remaining == -operation.amount_minor_units
    counted_without_name(payment, operation.amount_minor_units + 1)
    assert now_of(payment).frozen_at is not None, "one unit more than ours can explain"


def counted_without_name(payment, total):
    before = LedgerEntry.objects.filter(payment=payment, kind="REFUND")
    make_entry(
        payment=payment,
        kind="REFUND",
        amount_minor_units=total - sum(before.values_list("amount_minor_units", flat=True)),
        processor_reference=f"{payment.processor_reference}{UNNAMED_REFUND}{total}",
    )


def test_a_frozen_payment_whose_facts_do_not_bear_the_refund_ends_it_as_ever():
    operation = operation_in_state(OperationState.CREATED)
    dispute(operation.payment)
    outcome = submit(operation, fake_gateway_for(operation))
    assert outcome.reason.startswith("FINDING_CHANGED")
    assert RefundOperation.objects.get().state == "CANCELLED"
    assert not GatewayAttempt.objects.exists()


def test_the_charge_that_stays_freezes_the_refund_of_the_other_too():
    operation = operation_in_state(OperationState.CREATED)
    kept = Payment.objects.get(pk=operation.workflow.kept_payment_id)
    Payment.objects.filter(pk=kept.pk).update(frozen_at=NOW, frozen_reason="OVERDRAWN")
    assert submit(operation, fake_gateway_for(operation)) == NotBegun("PAYMENT_FROZEN")


def test_an_approved_request_waits_and_stays_withdrawable():
    workflow = workflow_in_state(WorkflowState.APPROVED)
    frozen_by_what_failed_later(workflow.refund_payment)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    stored = RefundWorkflow.objects.get()
    assert (stored.state, stored.next_attempt_at) == ("APPROVED", NOW + timedelta(seconds=30))
    assert not RefundOperation.objects.exists()


def test_a_payment_is_released_only_while_the_facts_bear_it():
    payment, bank = overdrawn()
    report_frozen(now=NOW)
    with pytest.raises(StillOverdrawnError, match="by 4999 minor units"):
        release_payment(payment_id=payment.pk, reason="please", actor=PERSON, now=NOW)
    assert now_of(payment).frozen_at is not None
    won(bank)
    release_payment(payment_id=payment.pk, reason="won", actor=PERSON, now=NOW)
    assert (now_of(payment).frozen_at, now_of(payment).frozen_reason) == (None, "")
    assert ReviewCase.objects.get().closed_because == "PAYMENT_RELEASED"
    event = AuditOutbox.objects.get(topic="payment.released")
    assert (event.payload["reason"], event.payload["actor"]["id"]) == ("won", "user:7")
    with pytest.raises(NotFrozenError):
        release_payment(payment_id=payment.pk, reason="again", actor=PERSON, now=NOW)


def test_a_payment_that_is_overdrawn_again_freezes_again_with_a_case_of_its_own():
    payment, bank = overdrawn()
    report_frozen(now=NOW)
    won(bank)
    release_payment(payment_id=payment.pk, reason="won", actor=PERSON, now=NOW)
    bank.status = EntryStatus.LOST
    bank.save(update_fields=["status"])
    facts_committed()
    assert report_frozen(now=NOW) == 1
    assert ReviewCase.objects.count() == 2
    assert ReviewCase.objects.filter(closed_at__isnull=True).count() == 1


def unseen(payment, amount):
    """Book a fact as two sessions that did not see each other's would have left it."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE ledger_entries DISABLE TRIGGER USER")
        make_entry(payment=payment, kind="REFUND", amount_minor_units=amount)
        cursor.execute("ALTER TABLE ledger_entries ENABLE TRIGGER USER")


@pytest.mark.failure("F050")
def test_what_two_facts_overdrew_together_is_a_violation_once_and_frozen_then():
    payment = make_payment(order=make_order())
    unseen(payment, 5000)
    broken = {r.check.name: r.rows for r in ask_invariants() if not r.holds}
    assert broken == {"NEGATIVE_REMAINING": (str(payment.pk),)}
    tasks.check_invariants()
    assert now_of(payment).frozen_reason == "OVERDRAWN"
    assert all(r.holds for r in ask_invariants())
    assert ReviewCase.objects.get().reason == "PAYMENT_FROZEN"
    violated = AuditOutbox.objects.get(topic="invariant.violated")
    assert violated.payload["check"] == "NEGATIVE_REMAINING"


def run(*arguments):
    out = StringIO()
    try:
        call_command("unfreeze_payment", *arguments, stdout=out)
    except CommandError as error:
        return error.returncode, f"{out.getvalue()}{error}"
    return 0, out.getvalue()


def test_the_command_shows_the_sums_refuses_and_releases():
    payment, bank = overdrawn()
    named = (payment.processor_reference, "--merchant", payment.merchant.code)
    code, out = run(*named)
    assert code == 0
    assert "frozen since" in out
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["captured", "4999"], ["refunded", "4999"], ["pending", "0"], ["reserved", "0"],
        ["disputed", "4999"], ["remaining", "-4999"],
    ]  # fmt: skip
    code, out = run(*named, "--reason", "please")
    assert (code, "it stays frozen: more than the capture is gone" in out) == (1, True)
    LedgerEntry.objects.filter(pk=bank.pk).update(status=EntryStatus.WON)
    assert run(*named, "--reason", "the bank gave it back")[0] == 0
    assert now_of(payment).frozen_at is None
    code, out = run(*named, "--reason", "again")
    assert (code, out.endswith("it is not frozen")) == (1, True)
    released = AuditOutbox.objects.get(topic="payment.released").payload
    assert "gave it back" not in str(released)
    assert ErasableText.objects.get(pk=released["note_text"]).body == "the bank gave it back"
    code, out = run("ch_nobody", "--merchant", payment.merchant.code)
    assert (code, "has no payment ch_nobody" in out) == (2, True)


@pytest.mark.parametrize(
    "reason", ["card 4242 4242 4242 4242", "a\x1b[2Jb", "\u202etxt", "\u200b", "x" * 2001]
)
def test_a_reason_that_may_not_be_kept_releases_nothing(reason):
    payment = make_payment(order=make_order())
    frozen_by_what_failed_later(payment)
    named = (payment.processor_reference, "--merchant", payment.merchant.code)
    code, out = run(*named, "--reason", reason)
    assert (code, "4242" in out, reason in out) == (2, False, False)
    assert now_of(payment).frozen_at is not None
    assert not AuditOutbox.objects.filter(topic="payment.released").exists()


def test_of_two_accounts_with_one_reference_the_call_must_say_which():
    order = make_order()
    own = make_payment(order=order, processor_reference="ch_same")
    other = make_payment(order=order, processor_reference="ch_same", account="acct_2")
    frozen_by_what_failed_later(own)
    frozen_by_what_failed_later(other)
    named = ("ch_same", "--merchant", own.merchant.code)
    assert run(*named, "--reason", "found") == (2, "say which one with --account: '', acct_2")
    assert run(*named, "--account", "acct_2", "--reason", "found")[0] == 0
    assert (now_of(own).frozen_at is None, now_of(other).frozen_at is None) == (False, True)
    assert run(*named, "--account", "", "--reason", "found")[0] == 0
    assert run(*named, "--account", "acct_3")[0] == 2
