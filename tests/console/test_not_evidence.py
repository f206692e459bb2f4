"""What people and models said stands outside the evidence, named for what it is, and masked where it may harm."""

import json

import pytest

from ledger.models import ErasableText
from refunds.models import Proposal
from refunds.states import WorkflowState
from tests.console.conftest import ticket_of
from tests.factories import (
    NOW,
    make_customer,
    make_duplicate_order,
    make_order,
    make_reading,
    move_workflow,
    open_without_order,
    workflow_in_state,
)

pytestmark = pytest.mark.django_db
HONEST = {
    "recommended_action": "ask_person",
    "reason_code": "other",
    "requires_human_review": True,
    "customer_message": "Thank you for explaining this.",
}


def case_with(merchant, output, **columns):
    """Return a request that people own, about which a model said ``output``."""
    order = make_duplicate_order(customer__merchant=merchant).order
    workflow = workflow_in_state(WorkflowState.EVIDENCE_VERIFIED, order=order)
    Proposal.objects.create(
        workflow=workflow,
        command_number=workflow.command_number,
        proposer="model-1",
        model_snapshot="model-1-2026",
        prompt_version="propose_action/2",
        draft=ErasableText.keep(output, now=NOW),
        at=NOW,
        **({"output_class": "VALID"} | columns),
    )
    move_workflow(workflow, WorkflowState.MANUAL_REVIEW)
    return workflow


def page_of(client, workflow):
    return client.get(f"/admin/review/{ticket_of(workflow)}/").content.decode()


def split(page):
    """Return a page's part that is no evidence, and the rest."""
    start = page.index('<section aria-labelledby="not-evidence"')
    end = page.index("</section>", start)
    return page[start:end], page[:start] + page[end:]


def test_a_models_words_stand_outside_the_evidence_and_nowhere_else(as_reviewer, merchant):
    apart, evidence = split(page_of(as_reviewer, case_with(merchant, json.dumps(HONEST))))
    assert "proposals of a model prove nothing" in apart
    assert "Draft, word for word" in apart
    assert "Thank you for explaining this." in apart
    assert "Thank you for explaining this." not in evidence
    assert "model-1-2026 propose_action/2" in apart


def test_what_was_asked_is_shown_as_digests_and_parameters(as_reviewer, merchant):
    workflow = case_with(
        merchant,
        json.dumps(HONEST),
        prompt_sha256="1" * 64,
        context_sha256="2" * 64,
        request_sha256="3" * 64,
        parameters={"temperature": 0.25},
    )
    apart, _ = split(page_of(as_reviewer, workflow))
    for name, value in (("prompt", "1" * 64), ("context", "2" * 64), ("request", "3" * 64)):
        assert f'<dt>Asked: {name}</dt><dd class="reference">{value}</dd>' in apart
    assert "<dt>Asked: temperature</dt>" in apart


@pytest.mark.parametrize(
    "output",
    [
        json.dumps(HONEST | {"customer_message": "Write to grace@example.com, card 4242 4242 4242 4242."}),
        "Write to grace@example.com, card 4242 4242 4242 4242.",
    ],
)
def test_an_output_that_may_not_be_shown_is_masked_for_staff_as_well(as_reviewer, merchant, output):
    page = page_of(as_reviewer, case_with(merchant, output))
    assert "Output, masked: it is no draft that may be shown" in page
    assert "grace@example.com" not in page
    assert "4242 4242" not in page


def test_markup_of_a_model_is_text(as_reviewer, merchant):
    output = json.dumps(
        HONEST | {"customer_message": "<img src=x onerror=alert(1)> ![a](https://b.example/c)"}
    )
    page = page_of(as_reviewer, case_with(merchant, output))
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page
    assert 'b.example/c"' not in page


def test_a_reading_stands_with_the_words_that_it_read(as_reviewer, merchant):
    customer = make_customer(merchant=merchant)
    make_order(customer=customer, number="2841")
    workflow = open_without_order(customer=customer, message="Twice for 2841.")
    make_reading(workflow, order_hint="2841", request_sha256="4" * 64)
    move_workflow(workflow, WorkflowState.MANUAL_REVIEW)
    apart, evidence = split(page_of(as_reviewer, workflow))
    assert "Read by a model" in apart
    assert "<dd>refund_duplicate_charge</dd>" in apart
    assert "pre-selects on the customer's page, decides nothing" in apart.replace("&#x27;", "'")
    assert "4" * 64 in apart
    assert "refund_duplicate_charge" not in evidence
