"""Withdraw, write more, ask for a person, name the order: over HTTP, with their refusals."""

import time

import pytest

from refunds.models import CustomerMessage, RefundWorkflow
from refunds.states import OperationState, WorkflowState
from tests.api.calls import URL, act, ask, post, problem_of, token_client
from tests.factories import (
    make_customer,
    make_order,
    open_without_order,
    operation_in_state,
    workflow_in_state,
)
from tests.stages.trail import nothing_written

_W = WorkflowState


def client_of(workflow):
    return token_client(workflow.customer.user)


def test_a_request_without_an_order_number_waits_for_it(api, order):
    response = ask(api)
    assert response.status_code == 201
    body = response.json()
    workflow = RefundWorkflow.objects.get()
    assert (body["order_number"], body["state"], body["checked_at"]) == (None, "EVIDENCE_PENDING", None)
    assert body["status"]["key"] == "ORDER_NUMBER_NEEDED"
    until = workflow.next_attempt_at
    assert f"by {until.day} {until:%b %Y, %H:%M} UTC" in body["status"]["next"]
    assert ask(api, message="Hello?").status_code == 200
    assert RefundWorkflow.objects.count() == 1


@pytest.mark.failure("F093")
def test_an_order_number_in_the_words_is_a_hint_and_nothing_more(api, order):
    assert ask(api, message="Twice for order #2841!").json()["order_number"] is None
    assert RefundWorkflow.objects.get().order_id is None


def test_null_means_not_known_yet_and_a_key_repeats_it(api, order):
    headers = {"Idempotency-Key": "k"}
    first = ask(api, headers=headers)
    again = api.post(
        URL,
        data='{"message": "I was charged twice.", "order_number": null}',
        content_type="application/json",
        headers=headers,
    )
    assert (first.status_code, again.status_code) == (201, 200)
    act(api, first.json()["workflow_id"], "order", order_number="2841")
    assert ask(api, headers=headers).status_code == 200
    assert problem_of(ask(api, headers=headers, order_number="2841")) == (422, "idempotency_key_reuse")
    assert CustomerMessage.objects.count() == 1


def test_the_order_is_named_once(api, order):
    workflow_id = ask(api).json()["workflow_id"]
    for _ in range(2):
        given = act(api, workflow_id, "order", order_number="#2841")
        assert given.status_code == 200
        assert given.headers["Location"] == f"{URL}/{workflow_id}"
        assert given.json()["order_number"] == "2841"
        assert given.json()["status"]["key"] == "REQUEST_RECEIVED"
        assert [line["key"] for line in given.json()["timeline"]] == ["REQUEST_SAVED", "ORDER_GIVEN"]
    other = make_order(customer=order.customer, number="2999")
    refused = act(api, workflow_id, "order", order_number=other.number)
    assert problem_of(refused) == (409, "order_already_given")


@pytest.mark.failure("F109")
def test_an_order_with_an_open_request_leads_there(api, order):
    first = ask(api, order_number="2841").json()["workflow_id"]
    second = ask(api, message="And again!").json()["workflow_id"]
    led = act(api, second, "order", order_number="2841")
    assert (led.status_code, led.json()["workflow_id"]) == (200, first)
    assert led.headers["Location"] == f"{URL}/{first}"
    assert [line["key"] for line in led.json()["timeline"]] == ["REQUEST_SAVED", "MESSAGE_RECEIVED"]
    closed = api.get(f"{URL}/{second}").json()
    assert (closed["state"], closed["status"]["key"]) == ("WITHDRAWN", "ADDED_TO_OTHER_REQUEST")
    assert [line["key"] for line in closed["timeline"]] == ["REQUEST_SAVED", "ATTACHED"]


def test_withdrawing_may_be_repeated_and_frees_the_order(api, order):
    workflow_id = ask(api, order_number="2841").json()["workflow_id"]
    answers = [act(api, workflow_id, "withdraw") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["status"]["key"] == "WITHDRAWN_BY_YOU"
    assert answers[0].json()["timeline"][-1]["text"] == "You withdrew the request."
    assert ask(api, order_number="2841").status_code == 201


@pytest.mark.parametrize("state", OperationState)
def test_it_is_too_late_to_withdraw_once_a_refund_is_recorded(db, state):
    workflow = operation_in_state(state).workflow
    refused = act(client_of(workflow), workflow.pk, "withdraw")
    assert problem_of(refused) == (409, "too_late_to_withdraw")
    assert "was already approved and recorded" in refused.json()["detail"]


def test_words_are_added_once_and_only_while_it_is_open(api, order):
    workflow_id = ask(api, order_number="2841").json()["workflow_id"]
    for _ in range(2):
        added = act(api, workflow_id, "messages", message="It was on Monday.")
        assert added.status_code == 200
        assert [line["key"] for line in added.json()["timeline"]] == ["REQUEST_SAVED", "MESSAGE_RECEIVED"]
    act(api, workflow_id, "withdraw")
    refused = act(api, workflow_id, "messages", message="And on Tuesday.")
    assert problem_of(refused) == (409, "request_closed")
    assert "Ask for a person" in refused.json()["detail"]
    assert CustomerMessage.objects.count() == 2


def test_a_request_holds_a_bounded_number_of_messages(api, order, monkeypatch):
    monkeypatch.setattr("refunds.evidence.messages.MAX_MESSAGES", 2)
    workflow_id = ask(api, order_number="2841").json()["workflow_id"]
    assert act(api, workflow_id, "messages", message="Two.").status_code == 200
    assert problem_of(act(api, workflow_id, "messages", message="Three.")) == (409, "too_many_messages")
    assert problem_of(ask(api, order_number="2841", message="Three.")) == (409, "too_many_messages")


def test_a_person_is_asked_and_named_by_ticket(api, order):
    workflow_id = ask(api, order_number="2841").json()["workflow_id"]
    answers = [act(api, workflow_id, "person") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    body = answers[1].json()
    assert (body["state"], body["status"]["key"]) == ("MANUAL_REVIEW", "PERSON_ASKED")
    assert f"under ticket #{body['ticket']}" in body["status"]["heading"]
    assert [line["key"] for line in body["timeline"]] == ["REQUEST_SAVED", "PERSON_ASKED"]


@pytest.mark.parametrize(
    ("state", "code"), [(_W.COMPLETED, "refund_confirmed"), (_W.WITHDRAWN, "request_withdrawn")]
)
def test_a_person_cannot_be_asked_about_what_is_over(db, state, code):
    workflow = workflow_in_state(state)
    assert problem_of(act(client_of(workflow), workflow.pk, "person")) == (409, code)


def test_a_refused_request_goes_to_a_person(db):
    workflow = workflow_in_state(_W.NO_REFUND_DUE)
    assert act(client_of(workflow), workflow.pk, "person").json()["state"] == "MANUAL_REVIEW"


ACTIONS = {
    "withdraw": {},
    "person": {},
    "messages": {"message": "Mine now."},
    "order": {"order_number": "2841"},
}


def seen(response):
    return response.status_code, dict(response.headers), response.content


@pytest.mark.failure("F099")
@pytest.mark.failure("F100")
@pytest.mark.parametrize("action", ACTIONS)
def test_a_foreign_request_and_an_unknown_one_get_the_same_answer(api, order, action):
    neighbour = make_customer(merchant=order.merchant)
    foreign = [
        open_without_order(customer=neighbour),
        workflow_in_state(_W.APPROVED),
        operation_in_state(OperationState.COMPLETED).workflow,
    ]
    unknown = act(api, "wf_01KUNKNOWN0000000000000000", action, **ACTIONS[action])
    assert problem_of(unknown) == (404, "not_found")
    with nothing_written():
        for identifier in (
            *(row.pk for row in foreign),
            foreign[0].reference,
            "x" * 500,
            "1 OR 1=1",
            "%F0%9F%92%B8",
        ):
            assert seen(act(api, identifier, action, **ACTIONS[action])) == seen(unknown)


@pytest.mark.failure("F099")
@pytest.mark.failure("F100")
@pytest.mark.failure("F093")
def test_a_foreign_order_and_a_missing_one_get_the_same_answer(api, order, django_assert_num_queries):
    workflow_id = ask(api).json()["workflow_id"]
    others = [make_order(customer=make_customer(merchant=order.merchant)) for _ in range(5)]
    with django_assert_num_queries(4):
        missing = act(api, workflow_id, "order", order_number="0000")
    assert problem_of(missing) == (404, "order_not_found")
    for other in others:
        with nothing_written():
            assert seen(act(api, workflow_id, "order", order_number=other.number)) == seen(missing)
    assert RefundWorkflow.objects.get().order_id is None


BAD_BODIES = {
    "nul": ('{"%s": "a\\u0000b"}', 422),
    "raw nul": ('{"%s": "a\x00b"}', 400),
    "bidi": ('{"%s": "a\\u202eb"}', 422),
    "surrogate": ('{"%s": "a\\ud800b"}', 400),
    "number": ('{"%s": 9223372036854775808}', 422),
    "huge number": ('{"%s": ' + "9" * 100_000 + "}", 400),
    "5 megabytes": ('{"%s": "' + "x" * 5_000_000 + '"}', 413),
    "too long": ('{"%s": "' + "x" * 10_000 + '"}', 422),
    "deep": ('{"%s": ' + "[" * 10_000 + "]" * 10_000 + "}", 400),
    "unknown member": ('{"%s": "x", "amount": 1}', 422),
    "list": ("[]%.0s", 422),
    "not json": ("{%.0s", 400),
}


@pytest.mark.failure("F136")
@pytest.mark.failure("F139")
@pytest.mark.failure("F140")
@pytest.mark.failure("F141")
@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_body_that_cannot_be_used_changes_nothing(api, order, name):
    template, status = BAD_BODIES[name]
    workflow_id = ask(api).json()["workflow_id"]
    with nothing_written():
        for action, members in ACTIONS.items():
            body = template % next(iter(members), "anything")
            began = time.thread_time()
            answer = post(api, body, url=f"{URL}/{workflow_id}/{action}")
            assert time.thread_time() - began < 1
            assert problem_of(answer)[0] == status


@pytest.mark.failure("F136")
@pytest.mark.parametrize("action", ACTIONS)
def test_a_nul_in_the_address_is_refused(api, action):
    assert problem_of(act(api, "wf_%00", action, **ACTIONS[action])) == (400, "bad_request")


@pytest.mark.parametrize("action", ["messages", "person", "order"])
def test_what_stores_something_is_counted_like_a_new_request(api, order, settings, action, own_cache):
    workflow_id = ask(api).json()["workflow_id"]
    settings.NEW_REQUESTS_PER_MINUTE = 1
    answer = act(api, workflow_id, action, **ACTIONS[action])
    assert problem_of(answer) == (429, "throttled")
    assert int(answer.headers["Retry-After"]) >= 1
    assert act(api, workflow_id, "withdraw").status_code == 200


@pytest.mark.failure("F102")
def test_withdrawing_is_counted_by_itself(api, order, settings, own_cache):
    workflow_id = ask(api).json()["workflow_id"]
    settings.NEW_REQUESTS_PER_MINUTE = 3
    answers = [act(api, workflow_id, "withdraw") for _ in range(10)]
    # A minute of the clock may end in between, once.
    assert [answer.status_code for answer in answers[:3]] == [200] * 3
    refused = [answer for answer in answers if answer.status_code == 429]
    assert len(refused) in {4, 5, 6, 7}
    assert problem_of(refused[0]) == (429, "throttled")
    assert int(refused[0].headers["Retry-After"]) >= 1


def test_a_body_full_of_unknown_members_is_not_answered_with_all_of_them(api, order):
    answer = ask(api, **{f"unknown{n}": n for n in range(5000)})
    assert problem_of(answer) == (422, "invalid_request")
    assert [error["field"] for error in answer.json()["errors"]] == [f"unknown{n}" for n in range(10)]


@pytest.mark.parametrize("action", ACTIONS)
def test_a_stranger_is_asked_to_sign_in(client, db, action):
    assert problem_of(act(client, "wf_1", action, **ACTIONS[action])) == (401, "not_authenticated")
