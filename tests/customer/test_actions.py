"""Add information, withdraw, ask a person: offered where possible, asked before, harmless twice."""

import pytest
from django.test import Client, override_settings

from refunds.evidence.messages import MAX_MESSAGES
from refunds.models import CustomerMessage, RefundWorkflow
from refunds.states import OperationState, WorkflowState
from tests.customer.pages import Elements, text_of
from tests.factories import (
    add_message,
    make_customer,
    make_order,
    open_without_order,
    open_workflow,
    operation_in_state,
    workflow_in_state,
)

_W = WorkflowState
ACTIONS = ("message", "withdraw", "person", "order")
WRITTEN = {"message": "The card ends in 4242."}


def address(workflow, action=""):
    return f"/support/requests/{workflow.reference}/{action and action + '/'}"


def offered(client, workflow):
    """Return the actions whose buttons stand on a request's page."""
    client.force_login(workflow.customer.user)
    buttons = Elements(client.get(address(workflow))).buttons()
    return {action for action in ACTIONS if f"{address(workflow, action)}?" in buttons}


def state_of(workflow):
    return RefundWorkflow.objects.get(pk=workflow.pk).state


@pytest.fixture
def asked(order):
    return open_workflow(order=order)


@pytest.mark.parametrize(
    ("state", "actions"),
    [
        (_W.EVIDENCE_PENDING, {"message", "withdraw", "person"}),
        (_W.REQUIRES_HUMAN_APPROVAL, {"message", "withdraw"}),
        (_W.MANUAL_REVIEW, {"message", "withdraw"}),
        (_W.APPROVED, {"message", "withdraw", "person"}),
        (_W.EXECUTING, {"message", "person"}),
        (_W.COMPLETED, set()),
        (_W.NO_REFUND_DUE, {"person"}),
        (_W.REJECTED, {"person"}),
        (_W.WITHDRAWN, set()),
    ],
)
def test_what_is_possible_is_offered_and_nothing_else(client, db, state, actions):
    assert offered(client, workflow_in_state(state)) == actions


@pytest.mark.parametrize("state", WorkflowState)
@pytest.mark.parametrize("action", ["message", "withdraw", "person"])
def test_what_is_offered_can_be_done(client, db, state, action):
    workflow = workflow_in_state(state)
    if action in offered(client, workflow):
        assert client.get(address(workflow, action)).status_code == 200
        assert client.post(address(workflow, action), WRITTEN).status_code == 302


def test_words_are_added_once_and_shown(browser, asked):
    page = browser.get(address(asked, "message"))
    assert "What do you want to add?" in text_of(page)
    for _ in range(2):
        sent = browser.post(address(asked, "message"), WRITTEN)
        assert (sent.status_code, sent.headers["Location"]) == (302, address(asked))
    text = text_of(browser.get(address(asked)))
    assert "What you wrote is kept with this request." in text
    assert "The card ends in 4242." in text
    assert CustomerMessage.objects.count() == 2


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("", "Tell us what happened."),
        ("x" * 2001, "Use at most 2000 characters."),
        ("a\x00b", "Null characters are not allowed."),
        ("a\u202eb", "The text contains hidden control characters."),
        ("4242 4242 4242 4242", "Don't send card numbers"),
    ],
)
@pytest.mark.failure("F136")
@pytest.mark.failure("F140")
@pytest.mark.failure("F141")
def test_words_are_checked_as_those_of_a_new_request(browser, asked, message, words):
    page = browser.post(address(asked, "message"), {"message": message})
    html = page.content.decode()
    assert page.status_code == 422
    assert text_of(page).count(words) == 2
    assert '<a href="#id_message">' in html
    assert 'aria-invalid="true"' in html
    assert "4242 4242" not in html
    assert CustomerMessage.objects.count() == 1


def test_words_that_come_too_late_are_refused_and_not_lost(client, db):
    closed = workflow_in_state(_W.REJECTED)
    client.force_login(closed.customer.user)
    assert client.get(address(closed, "message")).status_code == 409
    page = client.post(address(closed, "message"), WRITTEN)
    assert page.status_code == 409
    assert "This request is closed." in text_of(page)
    assert WRITTEN["message"] in page.content.decode()


def test_more_than_people_can_read_is_refused(browser, asked):
    for number in range(MAX_MESSAGES):
        add_message(asked, f"Again, {number}.")
    page = browser.post(address(asked, "message"), WRITTEN)
    assert page.status_code == 409
    assert "We keep no more messages for this request." in text_of(page)


def test_withdrawing_asks_first_and_is_done_once(browser, asked):
    page = browser.get(address(asked, "withdraw"))
    assert "Withdraw this request?" in text_of(page)
    assert state_of(asked) == _W.EVIDENCE_PENDING
    for _ in range(2):
        sent = browser.post(address(asked, "withdraw"))
        assert (sent.status_code, sent.headers["Location"]) == (302, address(asked))
    assert state_of(asked) == _W.WITHDRAWN
    assert asked.events.count() == 2
    assert "You withdrew this request" in text_of(browser.get(address(asked)))


def test_too_late_to_withdraw_is_said_on_every_page(client, db):
    workflow = operation_in_state(OperationState.STATUS_UNKNOWN).workflow
    client.force_login(workflow.customer.user)
    words = "A refund was already approved and recorded for this request, so it can no longer be withdrawn."
    assert words in text_of(client.get(address(workflow)))
    for answer in (client.get(address(workflow, "withdraw")), client.post(address(workflow, "withdraw"))):
        assert answer.status_code == 409
        assert words in text_of(answer)
        assert "Back to the request" in text_of(answer)
    assert state_of(workflow) == _W.EXECUTING


@pytest.mark.parametrize(
    ("state", "words", "moved"),
    [
        (_W.EVIDENCE_PENDING, "We pass this request to our billing team", _W.MANUAL_REVIEW),
        (_W.NO_REFUND_DUE, "We pass this request to our billing team", _W.MANUAL_REVIEW),
        (_W.EXECUTING, "What is already under way goes on as it stands.", _W.EXECUTING),
    ],
)
def test_asking_for_a_person_says_what_it_does_and_is_noted_once(client, db, state, words, moved):
    workflow = workflow_in_state(state)
    client.force_login(workflow.customer.user)
    assert words in text_of(client.get(address(workflow, "person")))
    assert state_of(workflow) == state
    for _ in range(2):
        assert client.post(address(workflow, "person")).headers["Location"] == address(workflow)
    text = text_of(client.get(address(workflow)))
    assert state_of(workflow) == moved
    assert "We noted that you asked for a person." in text
    assert (
        text.count("You asked for a person, and we passed") + text.count("UTC You asked for a person.") == 1
    )


@pytest.mark.parametrize("state", [_W.COMPLETED, _W.WITHDRAWN])
def test_no_person_takes_up_what_is_over(client, db, state):
    workflow = workflow_in_state(state)
    client.force_login(workflow.customer.user)
    for answer in (client.get(address(workflow, "person")), client.post(address(workflow, "person"))):
        assert answer.status_code == 409
        assert "tart a new request" in text_of(answer)


def test_a_notice_belongs_to_its_request_and_its_session(browser, asked, order):
    other = open_without_order(customer=order.customer)
    browser.post(address(asked, "message"), WRITTEN)
    assert "is kept with this request" not in text_of(browser.get(address(other)))
    browser.post(address(asked, "message"), WRITTEN)
    browser.logout()
    browser.force_login(order.customer.user)
    assert "is kept with this request" not in text_of(browser.get(address(asked)))


@pytest.mark.failure("F099")
@pytest.mark.failure("F100")
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_foreign_and_missing_references_are_one(browser, order, action, method):
    theirs = open_workflow(order=make_order(customer=make_customer(merchant=order.merchant)))

    def seen(reference):
        sent = [WRITTEN | {"order": "2841"}] if method == "post" else []
        response = getattr(browser, method)(f"/support/requests/{reference}/{action}/", *sent)
        return response.status_code, dict(response.headers), response.content

    missing = seen("RF-0000-0000")
    assert missing[0] == 404
    for reference in (theirs.reference, "RF-X", "x" * 300, "9" * 5000):
        assert seen(reference) == missing
    assert (state_of(theirs), theirs.messages.count()) == (_W.EVIDENCE_PENDING, 1)


@pytest.mark.parametrize("action", ACTIONS)
def test_strangers_and_forms_without_a_token_change_nothing(asked, action):
    browser = Client(enforce_csrf_checks=True)
    strict = browser.post(address(asked, action), WRITTEN)
    browser.force_login(asked.customer.user)
    assert strict.status_code == browser.post(address(asked, action), WRITTEN).status_code == 403
    stranger = Client().post(address(asked, action), WRITTEN)
    assert stranger.headers["Location"] == f"/accounts/login/?next={address(asked, action)}"
    assert (state_of(asked), asked.messages.count()) == (_W.EVIDENCE_PENDING, 1)


@pytest.mark.failure("F102")
@pytest.mark.parametrize("action", ["message", "person", "order"])
def test_who_sends_too_often_waits_but_may_still_withdraw(browser, asked, action):
    with override_settings(NEW_REQUESTS_PER_MINUTE=0):
        answer = browser.post(address(asked, action), WRITTEN, headers={"X-Forwarded-For": "198.51.100.7"})
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert (state_of(asked), asked.messages.count()) == (_W.EVIDENCE_PENDING, 1)
        assert browser.get(address(asked)).status_code == 200
    with override_settings(NEW_REQUESTS_PER_MINUTE=1):  # used up by now, in whatever minute of the clock
        browser.post(address(asked, "order"), WRITTEN)
        assert browser.post(address(asked, "withdraw")).status_code == 302


@pytest.mark.failure("F102")
def test_withdrawing_is_limited_too(browser, asked):
    with override_settings(NEW_REQUESTS_PER_MINUTE=0):
        assert browser.get(address(asked, "withdraw")).status_code == 200
        answer = browser.post(address(asked, "withdraw"))
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert state_of(asked) == _W.EVIDENCE_PENDING


@pytest.mark.parametrize("action", ACTIONS)
def test_other_methods_are_refused(browser, asked, action):
    assert browser.put(address(asked, action)).status_code == 405
