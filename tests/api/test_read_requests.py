import pytest

from refunds.states import OperationState, WorkflowState
from tests.api.calls import URL, problem_of, token_client
from tests.factories import (
    add_message,
    make_customer,
    make_duplicate_order,
    make_order,
    open_workflow,
    operation_in_state,
    workflow_in_state,
)


def test_a_completed_refund_is_shown_with_its_operation_and_story(db):
    operation = operation_in_state(OperationState.COMPLETED, order=make_duplicate_order(number="2841").order)
    workflow = operation.workflow
    body = token_client(workflow.customer.user).get(f"{URL}/{workflow.pk}").json()
    assert list(body) == [
        "workflow_id",
        "reference",
        "order_number",
        "state",
        "finding",
        "reason_code",
        "ticket",
        "status",
        "operation",
        "timeline",
        "created_at",
        "updated_at",
        "checked_at",
    ]
    assert body["operation"] == {
        "refund_operation_id": operation.pk,
        "state": "COMPLETED",
        "amount_minor_units": 4999,
        "currency": "USD",
        "processor_reference": operation.processor_reference,
    }
    assert body["status"]["key"] == "REFUND_CONFIRMED"
    assert operation.processor_reference in body["status"]["body"]
    assert [line["key"] for line in body["timeline"]] == [
        "REQUEST_SAVED",
        "PAYMENTS_COMPARED",
        "REFUND_APPROVED",
        "SENDING_STARTED",
        "REFUND_CONFIRMED",
    ]
    assert (body["finding"], body["reason_code"]) == (
        "VERIFIED_DUPLICATE_CHARGE",
        "TWO_CAPTURES_OF_ONE_PURCHASE",
    )
    assert body["checked_at"] == "2026-11-28T10:00:00Z"


def test_an_unknown_outcome_is_being_verified(db):
    workflow = operation_in_state(OperationState.STATUS_UNKNOWN).workflow
    body = token_client(workflow.customer.user).get(f"{URL}/{workflow.pk}").json()
    assert (body["state"], body["operation"]["state"]) == ("EXECUTING", "STATUS_UNKNOWN")
    assert body["status"]["heading"] == (
        "We received your refund request and are verifying its status with our payment processor."
    )
    assert body["operation"]["processor_reference"] is None
    assert "failed" not in str(body).lower()


def test_a_request_with_people_names_its_ticket(db):
    workflow = workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL)
    body = token_client(workflow.customer.user).get(f"{URL}/{workflow.pk}").json()
    assert isinstance(body["ticket"], int)
    assert f"under ticket #{body['ticket']}." in body["status"]["heading"]


def test_the_list_is_newest_first_and_20_per_page(api, order):
    orders = [make_order(customer=order.customer, number=f"N{n}") for n in range(21)]
    ids = [open_workflow(order=row).pk for row in orders]
    first = api.get(URL).json()
    assert (first["count"], first["previous"]) == (21, None)
    assert [row["workflow_id"] for row in first["results"]] == ids[:0:-1]
    second = api.get(first["next"]).json()
    assert ([row["workflow_id"] for row in second["results"]], second["next"]) == ([ids[0]], None)
    for page in ("3", "0", "x", "9" * 40, "%C2%B2"):
        assert problem_of(api.get(f"{URL}?page={page}")) == (404, "not_found")


def test_an_empty_list_is_a_list(db):
    empty = token_client(make_customer().user).get(URL).json()
    assert empty == {"count": 0, "next": None, "previous": None, "results": []}


@pytest.mark.parametrize("size", [1, 5])
def test_a_page_of_requests_takes_the_same_queries_whatever_its_size(db, django_assert_num_queries, size):
    customer = make_customer()
    for _ in range(size):
        duplicate = make_duplicate_order(customer=customer)
        add_message(
            operation_in_state(OperationState.STATUS_UNKNOWN, order=duplicate.order).workflow, "More."
        )
    api = token_client(customer.user)
    # 2 for the token and the customer, 2 for the page, 7 for the rows beside it.
    with django_assert_num_queries(11):
        assert api.get(URL).json()["count"] == size


def test_a_request_that_is_not_theirs_is_logged_without_its_id(api, order, caplog):
    assert problem_of(api.get(f"{URL}/wf_SECRET77")) == (404, "not_found")
    (line,) = [record.msg for record in caplog.records if "request.not_found" in record.getMessage()]
    assert line["customer_id"] == order.customer_id
    assert not any("SECRET77" in str(record.msg) for record in caplog.records if record.name == "api")
