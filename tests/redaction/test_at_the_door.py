"""What the door takes out: seen by whoever wrote it, the same for pages and API, and the same when repeated."""

import pytest

from ledger.intake import IntakeRefusedError, check_client_token, check_message
from ledger.models import ErasableText, text_sha256
from refunds.models import CustomerMessage, RefundWorkflow
from tests.api.calls import act, ask, problem_of, token_client
from tests.customer.pages import Elements, text_of
from tests.factories import make_duplicate_order

pytestmark = pytest.mark.usefixtures("own_cache")
WRITTEN = "Twice! My password is kettle77, write to jane@example.com."
KEPT = "Twice! My password is [password removed], write to [e-mail address removed]."
TOLD = "We took out what looked like a password and an e-mail address before anything was saved"


@pytest.fixture
def order(db):
    return make_duplicate_order(number="2841").order


@pytest.fixture
def browser(client, order):
    client.force_login(order.customer.user)
    return client


@pytest.fixture
def api(order):
    return token_client(order.customer.user)


def kept():
    return [(message.text.body, message.text_sha256) for message in CustomerMessage.objects.order_by("pk")]


def test_the_page_shows_what_would_be_saved_before_it_is(browser):
    page = browser.post("/support/check/", {"message": WRITTEN, "order": "2841", "client_token": "a"})
    assert KEPT in text_of(page)
    assert TOLD in text_of(page)
    assert ErasableText.objects.count() == 0
    sent = browser.post("/support/", Elements(page).fields())
    assert kept() == [(KEPT, text_sha256(KEPT))]
    shown = text_of(browser.get(sent.url))
    assert KEPT in shown
    assert f"What you wrote is saved. {TOLD}" in shown
    assert TOLD not in text_of(browser.get(sent.url))


def test_a_form_that_is_sent_at_once_and_one_that_adds_are_told_as_well(browser):
    sent = browser.post("/support/", {"message": WRITTEN, "order": "2841", "client_token": "a"})
    assert TOLD in text_of(browser.get(sent.url))
    again = browser.post(f"{sent.url}message/", {"message": f"{WRITTEN} Please!"})
    assert f"What you wrote is kept with this request. {TOLD}" in text_of(browser.get(again.url))
    assert [body for body, _ in kept()] == [KEPT, f"{KEPT} Please!"]


def test_a_refused_form_comes_back_without_any_of_it(browser):
    form = {"message": f"{WRITTEN} CVV: 123", "order": "2841", "client_token": "a"}
    page = browser.post("/support/", form)
    assert page.status_code == 422
    assert f"{KEPT} CVV: [security code removed]" in text_of(page)
    assert "security code of a card" in text_of(page)
    assert RefundWorkflow.objects.count() == 0


def test_the_api_says_so_in_a_header_and_repeating_is_safe(api):
    first = ask(api, order_number="2841", message=WRITTEN, headers={"Idempotency-Key": "k-1"})
    again = ask(api, order_number="2841", message=WRITTEN, headers={"Idempotency-Key": "k-1"})
    other = ask(api, order_number="2841", message=f"{WRITTEN}!", headers={"Idempotency-Key": "k-1"})
    added = act(api, first.json()["workflow_id"], "messages", message="pin: 1234")
    clean = act(api, first.json()["workflow_id"], "messages", message="Thank you.")
    assert (first.status_code, again.status_code, added.status_code) == (201, 200, 200)
    assert problem_of(other) == (422, "idempotency_key_reuse")
    assert first.headers["Removed-From-Message"] == again.headers["Removed-From-Message"] == "PASSWORD, EMAIL"
    assert added.headers["Removed-From-Message"] == "PASSWORD"
    assert "Removed-From-Message" not in clean.headers
    assert [body for body, _ in kept()] == [KEPT, "pin: [password removed]", "Thank you."]


def test_a_security_code_is_refused_with_what_to_do_instead(api):
    answer = ask(api, order_number="2841", message="My CVV is 123.")
    assert problem_of(answer) == (422, "message_has_security_code")
    assert "Leave it out" in answer.json()["detail"]
    assert ErasableText.objects.count() == 0


def test_markers_count_when_the_length_is_checked():
    with pytest.raises(IntakeRefusedError) as refused:
        check_message("pw=a " * 400)
    assert refused.value.code == "MESSAGE_TOO_LONG"


@pytest.mark.parametrize(
    ("token", "name"), [("jane@example.com", "an e-mail"), ("password:kettle", "password"), ("tel:+442079460958", "phone")]
)  # fmt: skip
def test_a_key_that_is_stored_holds_nothing_sensitive(token, name):
    with pytest.raises(IntakeRefusedError) as refused:
        check_client_token(token)
    assert refused.value.code == "CLIENT_TOKEN_INVALID"
    assert name.split()[-1] in refused.value.text
