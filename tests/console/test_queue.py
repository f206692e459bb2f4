from datetime import timedelta

import pytest

from refunds.selectors.review import get_reviewer, list_queue
from refunds.selectors.review_records import QueueFilter
from refunds.states import OperationState, WorkflowState
from tests.console.conftest import superuser, ticket_of, waiting_request
from tests.factories import (
    NOW,
    make_customer,
    make_duplicate_order,
    make_merchant,
    make_staff,
    make_user,
    move_workflow,
    operation_in_state,
    workflow_in_state,
)

pytestmark = pytest.mark.django_db
QUEUE = "/admin/review/"


def queue_of(user, *, kind="", text="", page=1, now=NOW + timedelta(hours=2, minutes=10)):
    wanted = QueueFilter(kind=kind, text=text)
    return list_queue(reviewer=get_reviewer(user_id=user.pk), wanted=wanted, page=page, now=now)


def test_a_row_says_how_long_why_how_much_and_which_ticket(reviewer, waiting):
    (row,) = queue_of(reviewer).rows
    assert row.ticket == ticket_of(waiting)
    assert (row.kind, row.reason, row.amount) == ("APPROVAL", "APPROVAL_THRESHOLD", "$149.00")
    assert (row.waiting, row.votes, row.approvals_needed) == (timedelta(hours=2, minutes=10), 0, 1)
    assert (row.order_number, row.reference) == (waiting.order.number, waiting.reference)
    assert row.merchant_name == "Northwind"


def test_the_oldest_case_comes_first_and_closed_ones_are_gone(reviewer, merchant):
    newer = workflow_in_state(
        WorkflowState.MANUAL_REVIEW, order=order_at(merchant), reason="DISPUTE_OPEN", now=NOW
    )
    older = workflow_in_state(
        WorkflowState.MANUAL_REVIEW,
        order=order_at(merchant),
        reason="NOT_PROVEN",
        now=NOW - timedelta(hours=1),
    )
    workflow_in_state(WorkflowState.REJECTED, order=order_at(merchant))
    assert [row.ticket for row in queue_of(reviewer).rows] == [ticket_of(older), ticket_of(newer)]


@pytest.mark.failure("F099")
def test_cases_of_other_merchants_are_not_listed_not_even_for_a_superuser(waiting):
    elsewhere = make_staff(merchant=make_merchant())
    assert queue_of(elsewhere).rows == ()
    assert queue_of(superuser()).rows == ()


@pytest.mark.parametrize("typed", ["#{ticket}", "{ticket}", "{order}", " #{order} ", "{reference}", "{id}"])
def test_a_case_is_found_by_what_people_have_at_hand(reviewer, merchant, waiting, typed):
    other = waiting_request(merchant)
    text = typed.format(
        ticket=ticket_of(waiting), order=waiting.order.number, reference=waiting.reference, id=waiting.pk
    )
    found = [row.ticket for row in queue_of(reviewer, text=text).rows]
    assert found == [ticket_of(waiting)]
    assert ticket_of(other) not in found


def test_a_case_is_found_by_its_operation(reviewer, merchant):
    operation = operation_in_state(OperationState.MANUAL_REVIEW, order=order_at(merchant))
    (row,) = queue_of(reviewer, text=operation.pk, kind="FINANCE").rows
    assert row.ticket == ticket_of(operation.workflow)
    assert queue_of(reviewer, text=operation.pk, kind="APPROVAL").rows == ()


def test_a_page_holds_fifty_and_a_page_beyond_the_last_is_the_last(reviewer, merchant):
    customer = make_customer(merchant=merchant)
    for _ in range(51):
        workflow_in_state(WorkflowState.MANUAL_REVIEW, order=order_at(merchant, customer=customer))
    first, last = queue_of(reviewer), queue_of(reviewer, page=99)
    assert (len(first.rows), first.total, first.page, first.pages) == (50, 51, 1, 2)
    assert (len(last.rows), last.page) == (1, 2)
    assert {row.ticket for row in first.rows}.isdisjoint(row.ticket for row in last.rows)


@pytest.mark.parametrize("cases", [1, 3])
def test_the_queue_costs_five_queries_however_long_it_is(
    reviewer, merchant, cases, django_assert_num_queries
):
    for _ in range(cases):
        waiting_request(merchant)
    with django_assert_num_queries(5):  # memberships, count, cases, requests, approvals
        assert len(queue_of(reviewer).rows) == cases


def test_an_empty_queue_names_the_last_closed_case(as_reviewer, reviewer, merchant):
    assert "Nothing is waiting." in as_reviewer.get(QUEUE).text
    closed = workflow_in_state(WorkflowState.REJECTED, order=order_at(merchant))
    page = as_reviewer.get(QUEUE).text
    assert "Nothing is waiting." in page
    assert f"#{ticket_of(closed)}" in page


def test_a_filter_that_matches_nothing_says_so_and_can_be_cleared(as_reviewer, waiting):
    page = as_reviewer.get(QUEUE, {"q": "no-such-thing"}).text
    assert "No case matches." in page
    assert "Clear filters" in page
    assert "Nothing is waiting." not in page


@pytest.mark.parametrize(
    "query",
    [
        {"page": "0"}, {"page": "-1"}, {"page": "x"}, {"page": "9" * 40}, {"page": "²"},
        {"q": "9" * 60}, {"q": "x" * 500}, {"q": "'\"<b>"}, {"q": "#"}, {"q": "RF-%_"},
        {"kind": "NOPE"}, {"q": "\x07"},
    ],
)  # fmt: skip
def test_no_query_makes_the_queue_fail(as_reviewer, waiting, query):
    assert as_reviewer.get(QUEUE, query).status_code == 200


def test_the_queue_page_shows_a_table_with_headers_and_a_sentence(as_reviewer, waiting):
    page = as_reviewer.get(QUEUE).text
    assert "The amount is above what the policy lets run automatically." in page
    assert f'<a href="/admin/review/{ticket_of(waiting)}/">#{ticket_of(waiting)}</a>' in page
    assert page.count('scope="col"') == 10
    assert page.count("data-label=") == 10  # on a narrow screen each value stands beside its name
    assert "<h1>Review queue</h1>" in page
    assert "0 of 1" in page


def test_signed_out_people_are_sent_to_sign_in_and_come_back(client, waiting):
    answer = client.get(QUEUE)
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/?next=/admin/review/")


def test_customers_and_staff_without_a_membership_are_refused(client, waiting):
    for user in (waiting.customer.user, make_user(is_staff=True), superuser()):
        client.force_login(user)
        answer = client.get(QUEUE)
        assert answer.status_code == 403
        assert ("You work for no merchant" in answer.text) is user.is_staff


def test_a_member_who_is_no_longer_staff_is_refused(client, reviewer, waiting):
    reviewer.is_staff = False
    reviewer.save()
    client.force_login(reviewer)
    assert client.get(QUEUE).status_code == 403


def test_personal_pages_are_never_cached_and_run_no_inline_code(as_reviewer, waiting):
    answer = as_reviewer.get(QUEUE)
    assert "no-store" in answer["Cache-Control"]
    assert "script-src 'self'" in answer["Content-Security-Policy"]
    for inline in ("style=", "onclick", "<style", "javascript:"):
        assert inline not in answer.text


def test_a_withdrawn_request_leaves_the_queue(reviewer, waiting):
    move_workflow(waiting, WorkflowState.WITHDRAWN)
    assert queue_of(reviewer).rows == ()


def order_at(merchant, **columns):
    return make_duplicate_order(
        **({"customer__merchant": merchant} | columns if "customer" not in columns else columns)
    ).order
