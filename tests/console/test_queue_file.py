"""The queue as CSV: the same cases as on the page, every page of them, and nothing in it runs."""

import csv
from io import StringIO

import pytest

from approvals.models import ReviewCase
from ledger.clock import now_utc
from ledger.models import Merchant, Order
from refunds.selectors import review
from refunds.states import WorkflowState
from tests.console.conftest import ticket_of, waiting_request
from tests.factories import make_duplicate_order, make_merchant, make_staff, workflow_in_state

pytestmark = pytest.mark.django_db
FILE = "/admin/review/queue.csv"


def rows_of(response):
    assert response.status_code == 200
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    header, *rows = csv.reader(StringIO(text))
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_a_row_says_what_the_page_says(as_reviewer, waiting):
    response = as_reviewer.get(FILE)
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"] == f'attachment; filename="review-queue-{now_utc():%Y-%m-%d}.csv"'
    (row,) = rows_of(response)
    assert row["Ticket"] == str(ticket_of(waiting))
    assert (row["Amount"], row["Amount in minor units"], row["Currency"]) == ("$149.00", "14900", "USD")
    assert (row["Order"], row["Merchant"]) == (waiting.order.number, "Northwind")
    assert (row["Votes"], row["Approvals needed"], row["Claimed by"]) == ("0", "1", "nobody")


@pytest.mark.failure("F095")
def test_names_that_others_chose_run_no_formula(as_reviewer, merchant, waiting, reviewer):
    Merchant.objects.filter(pk=merchant.pk).update(name="=HYPERLINK(1)")
    Order.objects.filter(pk=waiting.order_id).update(number="+2841")
    colleague = make_staff(merchant=merchant, username="@SUM(A1)")
    ReviewCase.objects.filter(ticket=ticket_of(waiting)).update(
        claimed_by=f"user:{colleague.pk}", claimed_until=now_utc().replace(year=now_utc().year + 1)
    )
    (row,) = rows_of(as_reviewer.get(FILE))
    assert (row["Merchant"], row["Order"]) == ("'=HYPERLINK(1)", "'+2841")
    assert row["Claimed by"].startswith("'@")
    assert row["Amount in minor units"] == "14900"


def test_the_filters_of_the_page_hold_and_the_page_links_to_the_file(as_reviewer, merchant, waiting):
    other = workflow_in_state(
        WorkflowState.MANUAL_REVIEW, order=make_duplicate_order(customer__merchant=merchant).order
    )
    assert {row["Ticket"] for row in rows_of(as_reviewer.get(FILE))} == {
        str(ticket_of(waiting)),
        str(ticket_of(other)),
    }
    (only,) = rows_of(as_reviewer.get(FILE, {"kind": "APPROVAL"}))
    assert only["Ticket"] == str(ticket_of(waiting))
    page = as_reviewer.get("/admin/review/", {"kind": "APPROVAL"}).content.decode()
    assert f'href="{FILE}?kind=APPROVAL' in page


def test_every_page_of_the_queue_is_in_it(as_reviewer, merchant, monkeypatch):
    monkeypatch.setattr(review, "_BATCH", 2)
    wanted = [ticket_of(waiting_request(merchant)) for _ in range(5)]
    assert [int(row["Ticket"]) for row in rows_of(as_reviewer.get(FILE))] == wanted


def test_an_empty_queue_is_a_header(as_reviewer):
    assert rows_of(as_reviewer.get(FILE)) == []


@pytest.mark.failure("F099")
def test_other_merchants_are_not_in_it_and_customers_get_nothing(client, waiting):
    client.force_login(make_staff(merchant=make_merchant()))
    assert rows_of(client.get(FILE)) == []
    client.force_login(waiting.customer.user)
    assert client.get(FILE).status_code == 403
    client.logout()
    assert client.get(FILE).status_code == 302
