import pytest

from ledger.models import AuditOutbox
from refunds.models import CustomerMessage, RefundWorkflow, RefundWorkflowEvent
from tests.api.calls import MESSAGE, URL, ask, problem_of, token_client
from tests.api.conformance import CheckedClient
from tests.factories import make_customer, make_order, make_user


def rows():
    return (RefundWorkflow.objects.count(), CustomerMessage.objects.count())


def test_a_new_request_is_201_with_the_documented_shape(api, order):
    response = ask(api, order_number="#2841", problem="DUPLICATE_CHARGE")
    workflow = RefundWorkflow.objects.get()
    assert response.status_code == 201
    assert response.headers["Location"] == f"{URL}/{workflow.pk}"
    assert response.headers["Cache-Control"] == "private, no-store"
    stamp = workflow.created_at.isoformat().replace("+00:00", "Z")
    assert response.json() == {
        "workflow_id": workflow.pk,
        "reference": workflow.reference,
        "order_number": "2841",
        "state": "EVIDENCE_PENDING",
        "finding": "",
        "reason_code": "",
        "ticket": None,
        "status": {
            "key": "REQUEST_RECEIVED",
            "stage": "CHECKING",
            "heading": "We've received your request.",
            "body": "We're checking your order and payment records. Nothing has been refunded yet.",
            "next": "You can close this page and come back to it.",
        },
        "operation": None,
        "timeline": [{"at": stamp, "key": "REQUEST_SAVED", "text": "We saved your request."}],
        "created_at": stamp,
        "updated_at": stamp,
        "checked_at": None,
    }
    assert workflow.customer_id == order.customer_id
    assert RefundWorkflowEvent.objects.get().evidence["identity"]["method"] == "token"
    assert AuditOutbox.objects.count() == 1


@pytest.mark.parametrize("members", [{"order_number": "2841"}, {}])
def test_the_answer_to_a_new_request_is_what_reading_it_says(api, order, members):
    opened = ask(api, **members)
    assert opened.status_code == 201
    assert api.get(opened.headers["Location"]).json() == opened.json()


def test_a_second_request_for_the_order_is_200_with_the_open_one(api, order):
    first = ask(api, order_number="2841").json()
    second = ask(api, order_number="2841", message="Still waiting.")
    assert second.status_code == 200
    assert second.json()["workflow_id"] == first["workflow_id"]
    assert [line["key"] for line in second.json()["timeline"]] == ["REQUEST_SAVED", "MESSAGE_RECEIVED"]
    assert rows() == (1, 2)
    assert RefundWorkflow.objects.get().repeat_contacts == 1


def test_a_repeated_key_is_the_same_request_and_keeps_no_second_message(api, order):
    headers = {"Idempotency-Key": "k-1"}
    first = ask(api, order_number="2841", headers=headers)
    second = ask(api, order_number="#2841", headers=headers)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["workflow_id"] == second.json()["workflow_id"]
    assert rows() == (1, 1)


@pytest.mark.parametrize("other", [{"message": "Something else."}, {"order_number": "2999"}])
def test_a_key_with_another_body_is_refused_and_stores_nothing(api, order, other):
    make_order(customer=order.customer, number="2999")
    headers = {"Idempotency-Key": "k-1"}
    ask(api, order_number="2841", headers=headers)
    response = ask(api, headers=headers, **({"order_number": "2841"} | other))
    assert problem_of(response) == (422, "idempotency_key_reuse")
    assert rows() == (1, 1)


def test_two_customers_may_use_the_same_key(api, order):
    other = make_order(customer=make_customer(merchant=order.merchant), number="3000")
    headers = {"Idempotency-Key": "k-1"}
    assert ask(api, order_number="2841", headers=headers).status_code == 201
    assert ask(token_client(other.customer.user), order_number="3000", headers=headers).status_code == 201


@pytest.mark.parametrize("key", ["", "a" * 101, "two words", "ключ"])
def test_a_key_that_is_none_is_refused(api, order, key):
    response = ask(api, order_number="2841", headers={"Idempotency-Key": key})
    assert problem_of(response) == (422, "idempotency_key_invalid")
    assert rows() == (0, 0)


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"order_number": ""}, "order_number_required"),
        ({"order_number": " "}, "order_number_required"),
        ({"order_number": 2841}, "order_number_not_a_text"),
        ({"order_number": ["2841"]}, "order_number_not_a_text"),
        ({"order_number": "\uff12\uff18\uff14\uff11"}, "order_number_invalid"),
        ({"order_number": "9" * 65}, "order_number_invalid"),
        ({"order_number": "2841", "message": None}, "message_required"),
        ({"order_number": "2841", "message": "  "}, "message_required"),
        ({"order_number": "2841", "message": "x" * 2001}, "message_too_long"),
        ({"order_number": "2841", "message": True}, "message_not_a_text"),
        ({"order_number": "2841", "problem": "FRAUD"}, "problem_unknown"),
        ({"order_number": "2841", "amount": 4999}, "unknown_field"),
    ],
)
def test_a_member_that_cannot_be_used_is_422_with_its_own_code(api, order, members, code):
    response = ask(api, **members)
    assert problem_of(response) == (422, code)
    assert [error["code"] for error in response.json()["errors"]] == [code]
    assert rows() == (0, 0)


def test_several_refused_members_are_listed_together(api, order):
    response = ask(api, message="", problem="FRAUD", order_number="#")
    assert problem_of(response) == (422, "invalid_request")
    assert {error["field"]: error["code"] for error in response.json()["errors"]} == {
        "message": "message_required",
        "order_number": "order_number_required",
        "problem": "problem_unknown",
    }


def test_null_is_a_missing_member(api, order):
    response = api.post(
        URL, data='{"message": null, "order_number": "2841"}', content_type="application/json"
    )
    assert problem_of(response) == (422, "message_required")


def test_a_session_may_ask_too_but_only_with_a_csrf_token(order):
    browser = CheckedClient(enforce_csrf_checks=True)
    browser.force_login(order.customer.user)
    assert problem_of(ask(browser, order_number="2841")) == (403, "permission_denied")
    assert rows() == (0, 0)
    browser.get("/support/")
    csrf = browser.cookies["csrftoken"].value
    assert ask(browser, order_number="2841", headers={"X-CSRFToken": csrf}).status_code == 201
    assert RefundWorkflowEvent.objects.get().evidence["identity"]["method"] == "session"


def test_a_user_without_a_customer_record_is_told_so(db):
    assert problem_of(ask(token_client(make_user()), order_number="2841")) == (403, "not_a_customer")
    assert rows() == (0, 0)


def test_the_words_are_kept_for_erasure_and_not_in_evidence(api, order):
    ask(api, order_number="2841", message="My secret story.")
    assert CustomerMessage.objects.get().text.body == "My secret story."
    assert "secret" not in str(list(RefundWorkflowEvent.objects.values()))
    assert MESSAGE not in str(list(AuditOutbox.objects.values()))
