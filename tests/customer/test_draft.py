"""The words of a model on the page of a request: labelled, outside what the catalogue says, or not there at all."""

import json

import pytest

from ledger.models import ErasableText, Order
from notifications.models import Notification
from refunds import pipeline
from refunds.casework.house_texts import retire_text
from refunds.customer.draft import draft_for
from refunds.models import Proposal, RefundWorkflow
from refunds.proposers.port import Proposed
from refunds.stages import s06_propose_action
from tests.customer.pages import Elements, text_of
from tests.factories import (
    NOW,
    make_duplicate_order,
    make_house_text,
    make_policy,
    make_staff,
    open_workflow,
)

LABEL = "Written by a computer program An AI assistant wrote this. It decides nothing and can be wrong."
NEUTRAL = "Thank you for explaining this. A colleague should look at it, so I have asked one."
PROMISE = "You will have the money within 3 days under our goodwill rule."


class Model:
    def __init__(self, **said):
        self._said = {
            "recommended_action": "ask_person",
            "reason_code": "verified_duplicate_charge",
            "requires_human_review": True,
            "customer_message": NEUTRAL,
        } | said

    def propose(self, _context, **_asked):
        return Proposed(
            raw_text=json.dumps(self._said),
            model_snapshot="model-2026",
            prompt_version="propose_action/2",
            latency_ms=1,
            requests=1,
        )


@pytest.fixture
def order(db):
    order = make_duplicate_order(number="2841", description="Blue kettle").order
    make_policy(merchant=order.merchant, guidance="Whoever paid a thing again, we want to help.")
    return order


@pytest.fixture
def decided(order, monkeypatch):
    """Take a request through stages 3 to 9 with a model that says this; return it."""

    def decide(name="model-1", **said):
        monkeypatch.setattr(s06_propose_action, "get_proposers", lambda: ((name, Model(**said)),))
        workflow = open_workflow(order=order)
        pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
        return RefundWorkflow.objects.get(pk=workflow.pk)

    return decide


def page_of(browser, workflow):
    return browser.get(f"/support/requests/{workflow.reference}/")


def test_a_draft_is_shown_labelled_and_outside_the_status(browser, decided):
    workflow = decided()
    assert workflow.state == "REQUIRES_HUMAN_APPROVAL"
    page = page_of(browser, workflow)
    text = text_of(page)
    assert f"{LABEL} What holds is what we say above. {NEUTRAL}" in text
    assert text.count(NEUTRAL) == 1
    html = page.content.decode()
    status = html[html.index('<section class="status"') : html.index("</section>")]
    assert NEUTRAL not in status
    (section,) = [
        found
        for found in Elements(page).all("section")
        if found.get("aria-labelledby") == "assistant-heading"
    ]
    assert section["class"] == "assistant"


def test_the_catalogue_says_the_same_with_and_without_a_draft(browser, decided):
    html = page_of(browser, decided()).content.decode()
    heading = html.partition('id="status-heading">')[2].partition("</h1>")[0]
    assert "is with our billing" in heading


@pytest.mark.failure("F090")
@pytest.mark.parametrize("said", [{}, {"recommended_action": "issue_refund"}], ids=["a person", "a refund"])
def test_a_promised_goodwill_rule_never_reaches_the_customer(browser, decided, said):
    workflow = decided(customer_message=PROMISE, **said)
    assert workflow.state == "MANUAL_REVIEW"
    assert PROMISE in Proposal.objects.get().draft.body
    pages = [
        browser.get(f"/support/requests/{workflow.reference}/{more}")
        for more in ("", "person/", "withdraw/", "message/")
    ]
    pages.append(browser.get("/support/requests/"))
    pages.append(browser.get(f"/api/v1/refund-requests/{workflow.pk}"))
    for page in pages:
        words = page.content.decode()
        assert "goodwill" not in words
        assert "3 days" not in words
        assert LABEL not in text_of(page)
    assert "is with our billing" in text_of(pages[0])
    assert "goodwill" not in json.dumps(list(Notification.objects.values_list("facts", flat=True)))


@pytest.mark.failure("F090")
@pytest.mark.parametrize(
    "message",
    [
        "Your refund of $49.99 is done.",
        "The money will be back by Friday.",
        "Please confirm at https://refunds.example.net/confirm first.",
        "Call +1 202 555 0143 and ask for me.",
        "The other charge belongs to grace@example.com.",
        "Order 9000 has the same problem.",
        '<img src="https://example.com/x.png"> A colleague looks at it.',
        "![x](https://example.com/x.png) A colleague looks at it.",
        "Your refund was approved by our team.",
    ],
)
def test_a_draft_that_claims_what_no_model_knows_goes_to_people_and_not_to_the_customer(
    browser, decided, message
):
    workflow = decided(customer_message=message)
    assert workflow.state == "MANUAL_REVIEW"
    page = page_of(browser, workflow)
    assert "assistant-draft" not in page.content.decode()
    assert "example.net" not in page.content.decode()


@pytest.mark.parametrize(
    "message",
    [
        "I verified the duplicate charge and can submit it for refund.",
        "There is no duplicate charge on your order, but a colleague looks at it.",
        "A colleague looks at it and will write to you soon.",
        "Thank you, Maria. A colleague looks at it for you.",
    ],
)
def test_a_draft_that_claims_more_than_the_state_is_dropped_and_the_catalogue_speaks_alone(
    browser, decided, message
):
    workflow = decided(customer_message=message)
    assert workflow.state == "REQUIRES_HUMAN_APPROVAL"
    page = page_of(browser, workflow)
    assert "assistant-draft" not in page.content.decode()
    assert message not in text_of(page)


@pytest.mark.parametrize("surface", ["note", "guidance"])
def test_what_the_shop_wrote_for_itself_is_not_passed_on(browser, order, decided, surface):
    private = "They return everything, explaining nothing."
    Order.objects.update(note=private if surface == "note" else "")
    said = "Thank you for explaining it." if surface == "note" else "We want to help."
    workflow = decided(customer_message=f"Thank you for your patience. {said}")
    assert workflow.state == "REQUIRES_HUMAN_APPROVAL"
    assert "assistant-draft" not in page_of(browser, workflow).content.decode()


@pytest.mark.parametrize("retired", [False, True], ids=["in use", "retired since"])
def test_what_a_house_text_says_for_staff_is_not_passed_on(browser, order, decided, retired):
    text = make_house_text(
        merchant=order.merchant, title="Duplicate charge", body="Look whether they were suspicious before."
    )
    workflow = decided(customer_message="Thank you for your patience. Others were suspicious of it.")
    assert Proposal.objects.get().documents
    if retired:
        second = make_staff(merchant=order.merchant)
        retire_text(document_id=text.pk, staff_user_id=second.pk, note="", now=NOW)
    assert workflow.state == "REQUIRES_HUMAN_APPROVAL"
    assert "assistant-draft" not in page_of(browser, workflow).content.decode()


def test_the_words_by_which_a_house_text_is_found_are_no_secret(browser, order, decided):
    make_house_text(merchant=order.merchant, title="Duplicate charge", body="Apologise briefly.")
    said = "Thank you. We can see a duplicate charge on your order. A colleague looks at it for you."
    workflow = decided(customer_message=said)
    assert Proposal.objects.get().documents
    assert said in text_of(page_of(browser, workflow))


@pytest.mark.parametrize("name", ["deterministic", "staff"])
def test_words_that_no_model_wrote_are_not_called_a_models(browser, decided, name):
    page = page_of(browser, decided(name=name))
    assert "assistant-draft" not in page.content.decode()


def test_once_money_moves_the_catalogue_speaks_alone(browser, decided):
    workflow = decided(
        recommended_action="issue_refund", customer_message="Thank you for explaining this to us."
    )
    assert workflow.state == "EXECUTING"
    assert "assistant-draft" not in page_of(browser, workflow).content.decode()


def test_an_erased_draft_is_gone(browser, decided):
    workflow = decided()
    ErasableText.objects.filter(pk=Proposal.objects.get().draft_id).update(body="", erased_at=NOW)
    assert "assistant-draft" not in page_of(browser, workflow).content.decode()


def test_only_a_request_that_waits_for_a_decision_costs_a_query(browser, order, django_assert_num_queries):
    workflow = open_workflow(order=order)
    with django_assert_num_queries(0):
        assert draft_for(workflow) == ""
