"""Cases about the books in the console: a difference, and a payment that facts froze."""

from datetime import timedelta

import pytest
from django.urls import reverse

from approvals.models import ReviewCase
from ledger.models import AuditOutbox, Customer, ErasableText, LedgerEntry, Payment
from ledger.snapshot import EntryStatus
from refunds.casework.about_books import settle_book_case
from refunds.casework.owned_case import CaseAction
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.console.wording import WHY_A_PERSON
from refunds.evidence.frozen import report_frozen
from refunds.models import BookDifference
from refunds.states import CheckCause, DifferenceKind, OperationState
from tests.console.conftest import superuser
from tests.factories import NOW, make_entry, make_order, make_payment, make_staff, operation_in_state
from tests.settlements.test_compare_books import LATER, Listing, compare, completed, provider_of
from tests.support.committed_facts import facts_committed

pytestmark = pytest.mark.django_db


@pytest.fixture
def operation():
    """A refund whose amount the provider tells differently, with the case of that."""
    operation = completed()
    compare(operation, Listing(provider_of(operation, amount_minor_units=4000)))
    return operation


@pytest.fixture
def staff(client, operation):
    user = make_staff(merchant=operation.merchant)
    client.force_login(user)
    return user


def page_of(client, name, *, data=None):
    ticket = ReviewCase.objects.get().ticket
    address = reverse(f"console:{name}", args=[ticket])
    return client.post(address, data) if data is not None else client.get(address)


def seen():
    """What the case page showed of the books, as its link says."""
    return BookDifference.objects.latest("pk").facts_sha256


def explained(**changes):
    return {"reason_code": "TIMING", "note": "", "seen": seen()} | changes


def test_the_queue_shows_the_case_with_order_and_amount(client, staff, operation):
    text = client.get(reverse("console:queue")).content.decode()
    assert "The books tell different amounts of one refund." in text
    assert f"#{operation.workflow.order.number}" in text
    assert "$49.99" in text


def test_the_case_shows_what_each_book_says(client, staff, operation):
    answer = page_of(client, "case")
    text = answer.content.decode()
    assert answer.status_code == 200
    assert all(book in text for book in ("Our books", "The provider&#x27;s list", "$49.99", "$40.00"))
    assert operation.pk in text
    assert operation.processor_reference in text
    assert "Nothing was changed because of it." in text


def test_a_difference_is_closed_with_a_reason_and_a_note_that_can_be_erased(client, staff):
    assert "Close as explained?" in page_of(client, "settle-books").content.decode()
    answer = page_of(client, "settle-books", data=explained(note="Corrected by Ana."))
    assert answer.status_code == 302
    assert ReviewCase.objects.get().closed_because == "TIMING"
    event = AuditOutbox.objects.get(topic="books.difference_explained")
    assert event.payload["actor"] == {"type": "STAFF", "id": f"user:{staff.pk}"}
    assert "Ana" not in str(event.payload)
    assert ErasableText.objects.get(pk=event.payload["note_text"]).body == "Corrected by Ana."
    assert "This case is closed." in page_of(client, "case").content.decode()


def test_a_case_that_is_closed_meanwhile_is_refused(client, staff):
    data = explained()
    page_of(client, "settle-books", data=data)
    answer = page_of(client, "settle-books", data=data)
    assert answer.status_code == 409
    assert "Nothing was changed." in answer.content.decode()
    assert page_of(client, "settle-books").status_code == 409  # no form that leads nowhere


def test_nobody_explains_what_a_newer_comparison_found(client, staff, operation):
    link = page_of(client, "case").content.decode()
    before = seen()
    assert f"books/?seen={before}" in link
    assert f'name="seen" value="{before}"' in page_of(client, "settle-books").content.decode()
    worse = provider_of(operation, amount_minor_units=9998)
    compare(operation, Listing(worse), now=LATER + timedelta(days=1), cause=CheckCause.PERSON)
    refused = page_of(client, "settle-books", data=explained(seen=before))
    assert refused.status_code == 409
    assert "A newer comparison found something else than what you saw." in refused.content.decode()
    assert "$99.98" in refused.content.decode()
    address = reverse("console:settle-books", args=[ReviewCase.objects.get().ticket])
    assert client.get(f"{address}?seen={before}").status_code == 409
    for forged in ("", "0" * 64, "x" * 65):
        assert page_of(client, "settle-books", data=explained(seen=forged)).status_code in {409, 422}
    assert ReviewCase.objects.get().closed_at is None
    assert page_of(client, "settle-books", data=explained()).status_code == 302


def test_nobody_closes_a_case_about_a_payment_of_their_own(client, staff, operation):
    Customer.objects.filter(pk=operation.workflow.customer_id).update(user=staff)
    assert "a request of your own" in page_of(client, "case").content.decode()
    assert page_of(client, "settle-books").status_code == 409
    assert page_of(client, "settle-books", data=explained()).status_code == 409
    action = CaseAction(
        ticket=ReviewCase.objects.get().ticket, staff_user_id=staff.pk, reason_code="TIMING", note=""
    )
    with pytest.raises(CaseWorkRefusedError, match="OWN_REQUEST"):
        settle_book_case(action, seen=seen(), now=NOW)
    assert ReviewCase.objects.get().closed_at is None


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"note": ""}, "Choose a reason."),
        ({"reason_code": "OTHER", "note": ""}, "Say in the note what the reason is."),
        ({"reason_code": "TIMING", "note": "4242 4242 4242 4242"}, "card number"),
    ],
)
def test_an_incomplete_answer_is_asked_again(client, staff, data, says):
    answer = page_of(client, "settle-books", data=data)
    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert ReviewCase.objects.get().closed_at is None


def test_a_reader_reads_and_may_not_close(client, operation):
    client.force_login(make_staff(merchant=operation.merchant, can_approve=False))
    assert "but not work on them" in page_of(client, "case").content.decode()
    assert page_of(client, "settle-books").status_code == 403


def test_another_merchants_staff_see_nothing(client, operation):
    client.force_login(make_staff(merchant=make_order().merchant))
    assert page_of(client, "case").status_code == page_of(client, "settle-books").status_code == 404


def test_a_case_about_a_request_has_no_such_page(client):
    operation = operation_in_state(OperationState.MANUAL_REVIEW)
    client.force_login(make_staff(merchant=operation.merchant))
    assert page_of(client, "settle-books").status_code == 404
    assert page_of(client, "case").status_code == 200


def test_work_on_requests_is_not_offered_for_the_books(client, staff):
    for name in ("claim", "release"):
        assert page_of(client, name, data={}).status_code == 404


def test_a_frozen_payment_is_shown_and_released_once_the_facts_bear_it(client):
    payment = make_payment(order=make_order())
    make_entry(payment=payment, kind="REFUND", amount_minor_units=4999)
    bank = make_entry(payment=payment, kind="DISPUTE", status="OPEN", amount_minor_units=4999)
    facts_committed()
    report_frozen(now=NOW)
    client.force_login(make_staff(merchant=payment.merchant))
    text = page_of(client, "case").content.decode()
    assert "nothing of this payment is refunded" in text
    assert "Release the payment" in text
    data = {"reason_code": "DISPUTE_ENDED", "note": ""}
    refused = page_of(client, "settle-books", data=data)
    assert refused.status_code == 409
    assert "more is gone than was captured" in refused.content.decode()
    LedgerEntry.objects.filter(pk=bank.pk).update(status=EntryStatus.WON)
    assert page_of(client, "settle-books", data=data).status_code == 302
    assert Payment.objects.get().frozen_at is None
    assert ReviewCase.objects.get().closed_because == "PAYMENT_RELEASED"


def test_nobody_releases_a_payment_of_their_own(client):
    payment = make_payment(order=make_order())
    refund = make_entry(payment=payment, kind="REFUND", amount_minor_units=5000)
    report_frozen(now=NOW)
    LedgerEntry.objects.filter(pk=refund.pk).update(status=EntryStatus.FAILED)
    insider = make_staff(merchant=payment.merchant)
    Customer.objects.filter(pk=payment.order.customer_id).update(user=insider)
    client.force_login(insider)
    data = {"reason_code": "REFUND_FAILED", "note": ""}
    assert page_of(client, "settle-books", data=data).status_code == 409
    action = CaseAction(ticket=ReviewCase.objects.get().ticket, staff_user_id=insider.pk, **data)
    with pytest.raises(CaseWorkRefusedError, match="OWN_REQUEST"):
        settle_book_case(action, seen="", now=NOW)
    assert Payment.objects.get().frozen_at is not None


def test_every_kind_of_difference_has_a_sentence():
    assert set(DifferenceKind) - set(WHY_A_PERSON) == set()


def test_the_case_of_a_request_says_that_its_charge_is_frozen(client):
    operation = operation_in_state(OperationState.MANUAL_REVIEW)
    make_entry(payment=operation.payment, kind="DISPUTE", status="OPEN", amount_minor_units=4999)
    facts_committed()
    client.force_login(make_staff(merchant=operation.merchant))
    said = f"Charge {operation.payment_reference} is frozen"
    assert said in page_of(client, "case").content.decode()


def test_the_scoreboard_shows_the_last_comparison_and_what_is_frozen(client):
    client.force_login(superuser())
    empty = client.get(reverse("console:scoreboard")).content.decode()
    assert "No payment is frozen." in empty
    assert "No books have been compared yet." in empty
    operation = completed()
    compare(operation, Listing(provider_of(operation, amount_minor_units=4000)))
    make_entry(payment=operation.payment, kind="DISPUTE", status="OPEN", amount_minor_units=4999)
    facts_committed()
    text = client.get(reverse("console:scoreboard")).content.decode()
    assert "1 payment frozen" in text
    assert "1 AMOUNT_DIFFERS" in text
    assert operation.merchant.name in text
    assert "nowhere: none is imported" in text
