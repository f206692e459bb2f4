"""What really leaves the process, byte for byte, when a request with a canary in every column is taken on."""

import json
from datetime import timedelta

import pytest

from ledger.models import Order
from policies.states import DocumentState
from refunds import pipeline
from refunds.proposers.customer_text import MASK
from tests.factories import (
    NOW,
    make_customer,
    make_duplicate_order,
    make_house_text,
    make_merchant,
    make_policy,
    make_user,
    open_without_order,
    open_workflow,
)
from tests.proposers.asking import choice, completion
from tests.proposers.raw_server import answer, serving
from tests.proposers.samples import GOOD_TEXT
from tests.proposers.trial import model_at

pytestmark = pytest.mark.django_db
CANARY = "zeisig"
READING = json.dumps(
    {"intent": "refund_duplicate_charge", "problem": "duplicate_charge", "order_hint": None, "language": "en"}
)
# All that a request to a model may be made of. What is added here leaves the process from then on.
HEADERS = {
    *("host", "accept", "accept-encoding", "connection", "content-length", "content-type", "user-agent"),
    *("authorization", "x-stainless-arch", "x-stainless-async", "x-stainless-lang", "x-stainless-os"),
    *("x-stainless-package-version", "x-stainless-read-timeout", "x-stainless-retry-count"),
    *("x-stainless-raw-response", "x-stainless-runtime", "x-stainless-runtime-version"),
}
FIELDS = {"model", "messages", "response_format", "max_completion_tokens"}
CASE = {"finding", "reason_code", "problem", "policy_version", "allowed_actions"}
TEXTS = {"customer_text", "order_note", "policy_text"}


@pytest.fixture
def made():
    """A duplicate order whose every free column holds a canary of its own."""
    merchant = make_merchant(
        code=f"{CANARY}-m", name=f"{CANARY} shop", host=f"{CANARY}.example.com", region="US"
    )
    user = make_user(
        username=f"{CANARY}@example.com", email=f"{CANARY}@example.com", first_name=CANARY, last_name=CANARY
    )
    customer = make_customer(merchant=merchant, reference=f"C-{CANARY}", user=user)
    made = make_duplicate_order(customer=customer, number=f"N-{CANARY}", description=f"for {CANARY}")
    for number, payment in enumerate((made.kept, made.refunded)):
        payment.processor_reference = f"ch_{CANARY}{number}"
        payment.method_fingerprint, payment.method_last4 = f"fp_{CANARY}", "9876"
        payment.save()
    make_policy(merchant=merchant, approved_by=f"user:{CANARY}", source_reference=f"handbook/{CANARY}")
    return made


def sent_by(content, run):
    """Return the only request that reached the model: its head, lower case, and its document."""
    with serving(answer(completion(choice(content=content)))) as server:
        with model_at(server.url):
            run()
        (request,) = server.requests
    head, _, body = request.partition(b"\r\n\r\n")
    return head.decode().lower(), json.loads(body)


def names_in(head):
    lines = head.split("\r\n")
    assert lines[0] == "post /v1/chat/completions http/1.1"
    return {line.partition(":")[0] for line in lines[1:]}


def test_a_proposal_is_asked_for_with_allow_listed_fields_and_nothing_else(made):
    workflow = open_workflow(order=made.order, message="It was taken twice.")
    head, body = sent_by(
        GOOD_TEXT, lambda: pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    )
    assert names_in(head) <= HEADERS
    assert set(body) == FIELDS
    document = json.loads(body["messages"][1]["content"])
    assert set(document) == {"case", *TEXTS}
    assert set(document["case"]) == CASE
    assert document == {
        "case": {
            "finding": "VERIFIED_DUPLICATE_CHARGE",
            "reason_code": "TWO_CAPTURES_OF_ONE_PURCHASE",
            "problem": "DUPLICATE_CHARGE",
            "policy_version": document["case"]["policy_version"],
            "allowed_actions": ["issue_refund", "ask_person"],
        },
        "customer_text": "It was taken twice.",
        "order_note": None,
        "policy_text": None,
    }
    assert document["case"]["policy_version"].startswith("REF-DUP v")
    everything = head + json.dumps(body, ensure_ascii=False)
    for secret in (CANARY, workflow.pk, workflow.reference, "4999", "49.99", "usd", "9876", "2026-11"):
        assert secret.lower() not in everything.lower().replace(secret_free(head), "")


def test_of_house_texts_only_paragraphs_about_the_case_leave(made):
    """Not their metadata, their ids, who uploaded them, or the other paragraphs; and nothing of what is not approved."""
    merchant = made.order.merchant
    make_house_text(
        merchant=merchant,
        title="Wording",
        body=f"Say duplicate charge.\n\n{CANARY} looks after something else.",
        metadata=f'{{"author": "{CANARY}"}}',
    )
    for state in (DocumentState.UPLOADED, DocumentState.REJECTED, DocumentState.RETIRED):
        make_house_text(merchant=merchant, state=state, body=f"{CANARY} has a duplicate charge, {state}.")
    make_house_text(body=f"{CANARY} elsewhere has a duplicate charge.")
    workflow = open_workflow(order=made.order, message="It was taken twice.")
    _, body = sent_by(
        GOOD_TEXT, lambda: pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    )
    document = json.loads(body["messages"][1]["content"])
    assert set(document) == {"case", *TEXTS}
    assert document["policy_text"] == "Wording: Say duplicate charge."
    assert CANARY not in json.dumps(body)
    assert "kd_" not in json.dumps(body)


def secret_free(head):
    """Return the part of the head that may hold digits by chance: the versions of the SDK and its runtime."""
    return "\r\n".join(line for line in head.split("\r\n") if line.startswith(("x-stainless", "user-agent")))


def test_a_reading_is_asked_for_with_the_words_and_nothing_else(made):
    workflow = open_without_order(customer=made.order.customer, message="It was taken twice.")
    head, body = sent_by(
        READING,
        lambda: pipeline.read_message(workflow_id=workflow.pk, clock=lambda: NOW + timedelta(hours=1)),
    )
    assert names_in(head) <= HEADERS
    assert set(body) == FIELDS
    assert json.loads(body["messages"][1]["content"]) == {"customer_text": "It was taken twice."}
    everything = (head + json.dumps(body, ensure_ascii=False)).lower()
    assert CANARY not in everything
    assert workflow.pk.lower() not in everything


WRITTEN = (
    "Twice! Card 4242 4242 4242 4242, mail ana@example.com, phone +1 202 555 0143, "
    "IBAN GB82 WEST 1234 5698 7654 32, password is hunter2, key sk-abcdefghijklmnop1234."
)


@pytest.mark.parametrize("surface", ["message", "note", "guidance"])
def test_what_people_wrote_leaves_masked_and_bounded_from_every_surface(surface):
    merchant = make_merchant()
    make_policy(merchant=merchant, guidance=(WRITTEN + " x" * 500)[:1000] if surface == "guidance" else "")
    made = make_duplicate_order(customer=make_customer(merchant=merchant))
    if surface == "note":
        Order.objects.filter(pk=made.order.pk).update(note=WRITTEN + " x" * 100)
    message = WRITTEN + " x" * 800 if surface == "message" else "Twice."
    workflow = open_workflow(order=made.order, message=message)
    _, body = sent_by(
        GOOD_TEXT, lambda: pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    )
    document = json.loads(body["messages"][1]["content"])
    sent = document[{"message": "customer_text", "note": "order_note", "guidance": "policy_text"}[surface]]
    assert sent.startswith(f"Twice! Card {MASK}, mail {MASK}, phone {MASK}, IBAN {MASK}")
    assert len(sent) <= 1000
    for secret in ("4242", "ana@", "555", "WEST", "hunter2", "sk-abc"):
        assert secret not in json.dumps(body)
