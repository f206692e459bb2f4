import json
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger.models import ErasableText, text_sha256
from policies.states import DocumentState
from refunds.casework.house_texts import retire_text
from refunds.evidence.house_words import given_words
from refunds.models import Proposal, RefundWorkflow
from refunds.proposers import asking
from refunds.proposers.customer_text import MASK
from refunds.proposers.deterministic import DeterministicProposer
from refunds.proposers.guardrails import find_unsafe_language
from refunds.proposers.port import (
    Declined,
    DeclinedKind,
    Proposed,
    Unavailable,
    UnavailableKind,
)
from refunds.proposers.schema import parse_proposal
from refunds.proposers.showing import Standing, reasons_to_drop
from refunds.stages import s06_propose_action
from refunds.stages.s06_propose_action import ask_for_proposal, record_proposal
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import WorkflowState
from tests.factories import (
    NOW,
    add_message,
    make_duplicate_order,
    make_house_text,
    make_policy,
    make_staff,
    workflow_in_state,
)
from tests.stages.proposals import DOCUMENT, GOOD
from tests.stages.trail import last_move, nothing_written, path

pytestmark = pytest.mark.django_db
ANY_STANDING = Standing(duplicate_verified=True, approved=True, with_people=True)
INCOMPLETE = json.dumps({"recommended_action": "issue_refund"})
INVENTED = json.dumps(DOCUMENT | {"amount": 999999})


def said(text, *, requests=1):
    return Proposed(
        raw_text=text,
        model_snapshot="model-1",
        prompt_version="p1",
        latency_ms=40,
        requests=requests,
        prompt_sha256="a" * 64,
        context_sha256="b" * 64,
        request_sha256="c" * 64,
        parameters={"temperature": 0.0},
    )


TIMED_OUT = Unavailable(kind=UnavailableKind.TIMEOUT, detail="no answer", requests=2, latency_ms=900)
REFUSED = Declined(
    kind=DeclinedKind.REFUSAL,
    detail="",
    model_snapshot="model-1",
    prompt_version="p1",
    latency_ms=5,
    requests=1,
)


class Scripted:
    """A proposer that says what it is told, in order, and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def propose(self, context, *, deadline_seconds, repair_of=None):
        self.asked.append((context, deadline_seconds, repair_of))
        return self.answers.pop(0)


@pytest.fixture
def workflow():
    return workflow_in_state(WorkflowState.EVIDENCE_VERIFIED, message="I was charged twice, please help.")


@pytest.fixture
def models(monkeypatch):
    """Configure models in order; the deterministic proposer comes last, as in the registry."""

    def configure(*proposers):
        named = [(f"model-{number}", proposer) for number, proposer in enumerate(proposers, start=1)]
        chain = (*named, ("deterministic", DeterministicProposer()))
        monkeypatch.setattr(s06_propose_action, "get_proposers", lambda: chain)

    configure()
    return configure


def propose(workflow):
    outcome = ask_for_proposal(workflow=workflow, now=NOW)
    with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
        record_proposal(evidence=evidence, outcome=outcome)
    return Proposal.objects.get()


def test_a_proposal_is_stored_untrusted_and_moves_the_request(workflow, models):
    models(Scripted(said(GOOD)))
    proposal = propose(workflow)
    assert (proposal.proposer, proposal.model_snapshot, proposal.prompt_version) == (
        "model-1",
        "model-1",
        "p1",
    )
    assert (proposal.recommended_action, proposal.reason_code) == (
        "issue_refund",
        "verified_duplicate_charge",
    )
    assert (proposal.output_class, proposal.requires_human_review, proposal.requests) == ("VALID", False, 1)
    assert (proposal.command_number, proposal.latency_ms, proposal.draft.body) == (1, 40, GOOD)
    digests = (proposal.prompt_sha256, proposal.context_sha256, proposal.request_sha256)
    assert (digests, proposal.parameters) == (("a" * 64, "b" * 64, "c" * 64), {"temperature": 0.0})
    assert path(workflow) == ["EVIDENCE_PENDING", "EVIDENCE_VERIFIED", "ACTION_PROPOSED"]
    event = last_move(workflow)
    assert (event.stage, event.reason) == ("PROPOSE_ACTION", "PROPOSED")
    assert (event.actor_type, event.actor_id) == ("MODEL", "model-1")
    assert event.evidence == {
        "proposal": proposal.pk,
        "output_sha256": proposal.output_sha256,
        "output_class": "VALID",
        "prompt_version": "p1",
        "prompt_sha256": "a" * 64,
        "request_sha256": "c" * 64,
        "unavailable": [],
        "documents": [],
    }
    assert "Two charges" not in json.dumps(event.evidence)


@pytest.mark.parametrize(
    ("draft", "secret"),
    [
        ("I checked your card 4242 4242 4242 4242 for you.", "4242 4242"),
        ("I checked it for you, and your password is hunter2.", "hunter2"),
        ("I checked it for you, write to jane@mail.example about it.", "jane@"),
        ("I checked it for you, call +1 202 555 0143 about it.", "0143"),
        ("I checked it for you with sk_live_51Habcdefghij.", "51H"),
        ("I checked your account DE89 3704 0044 0532 0130 00 for you.", "0532"),
    ],
)
def test_sensitive_data_in_a_draft_is_not_stored_and_the_draft_still_fails(workflow, models, draft, secret):
    text = json.dumps(DOCUMENT | {"customer_message": draft})
    models(Scripted(said(text)))
    proposal = propose(workflow)
    assert secret not in proposal.draft.body
    assert MASK in json.loads(proposal.draft.body)["customer_message"]
    assert (proposal.output_class, proposal.output_sha256) == ("VALID", text_sha256(text))
    kept = parse_proposal(proposal.draft.body)
    assert "MASKED" in find_unsafe_language(kept.customer_message)
    assert reasons_to_drop(kept.customer_message, ANY_STANDING) != ()


def test_an_action_that_changes_while_the_form_is_repaired_is_not_taken(workflow, models):
    careful = json.dumps(DOCUMENT | {"recommended_action": "ask_person", "mood": "calm"})
    models(Scripted(said(careful), said(GOOD)))
    proposal = propose(workflow)
    assert (proposal.output_class, proposal.detail) == ("REJECT", "CHANGED_IN_REPAIR")
    assert (proposal.recommended_action, proposal.requests) == ("", 2)


@pytest.mark.parametrize("earlier", [INCOMPLETE, "{recommended_action: Issue-Refund", "I can help with it."])
def test_a_repair_that_keeps_the_action_is_taken(workflow, models, earlier):
    models(Scripted(said(earlier), said(GOOD)))
    assert propose(workflow).output_class == "VALID"


def test_a_proposal_changes_nothing_of_the_command(workflow, models):
    before = RefundWorkflow.objects.values("amount_minor_units", "currency", "refund_payment_id").get()
    models(Scripted(said(INVENTED)))
    propose(workflow)
    assert (
        RefundWorkflow.objects.values("amount_minor_units", "currency", "refund_payment_id").get() == before
    )


def test_the_model_is_told_codes_and_the_newest_words_and_no_amount(workflow, models):
    model = Scripted(said(GOOD))
    models(model)
    add_message(workflow, "Second thoughts: $49.99 twice.")
    ask_for_proposal(workflow=workflow, now=NOW)
    (context, deadline, repair_of) = model.asked[0]
    assert (context.finding, context.reason_code) == (
        "VERIFIED_DUPLICATE_CHARGE",
        "TWO_CAPTURES_OF_ONE_PURCHASE",
    )
    assert (context.problem, context.policy_version) == ("DUPLICATE_CHARGE", workflow.policy_version)
    assert context.customer_text == "Second thoughts: $49.99 twice."
    assert deadline > 0
    assert repair_of is None


def test_a_note_on_the_order_and_the_policys_prose_are_told_cleaned_and_masked(monkeypatch, models):
    order = make_duplicate_order(note="Ring\u202e the bell, or write to ana@example.com.").order
    make_policy(merchant=order.merchant, guidance="Duplicates are paid back. Card 4242 4242 4242 4242.")
    workflow = workflow_in_state(WorkflowState.EVIDENCE_VERIFIED, order=order)
    model = Scripted(said(GOOD))
    models(model)
    ask_for_proposal(workflow=workflow, now=NOW)
    context = model.asked[0][0]
    assert context.order_note.startswith(f"Ring the bell, or write to {MASK}")
    assert context.policy_text == f"Duplicates are paid back. Card {MASK}."


@pytest.fixture
def guided(db):
    """Return a verified duplicate whose policy has guidance, or none."""

    def make(guidance="Be kind."):
        order = make_duplicate_order().order
        make_policy(merchant=order.merchant, guidance=guidance)
        return workflow_in_state(WorkflowState.EVIDENCE_VERIFIED, order=order)

    return make


def told(workflow, models):
    """Return the policy's words as a model is told them."""
    model = Scripted(said(GOOD))
    models(model)
    ask_for_proposal(workflow=workflow, now=NOW)
    return model.asked[0][0].policy_text


def test_approved_house_texts_stand_behind_the_guidance_in_whole_paragraphs(guided, models):
    workflow = guided()
    make_house_text(merchant=workflow.merchant, title="Duplicate charge", body="Say sorry.\n\nSay thanks.")
    make_house_text(merchant=workflow.merchant, title="Delivery", body="Nothing of it.")
    make_house_text(title="Duplicate charge", body="Of another merchant.")
    for state in (DocumentState.UPLOADED, DocumentState.REJECTED, DocumentState.RETIRED):
        make_house_text(merchant=workflow.merchant, state=state, title=f"Duplicate charge, {state}")
    assert told(workflow, models) == (
        "Be kind.\n\nDuplicate charge: Say sorry.\n\nDuplicate charge: Say thanks."
    )
    assert told(guided(guidance=""), models) is None


def test_house_texts_alone_are_told_where_a_policy_has_no_guidance(guided, models):
    workflow = guided(guidance="")
    make_house_text(merchant=workflow.merchant, title="Duplicate charge", body="Say sorry.")
    assert told(workflow, models) == "Duplicate charge: Say sorry."


@pytest.mark.parametrize(("length", "fit"), [(0, 3), (300, 2), (400, 1), (700, 0), (1000, 0)])
def test_guidance_comes_first_and_no_paragraph_is_cut_to_fit(guided, models, length, fit):
    guidance = ("Yes. " * 200)[:length].strip()
    workflow = guided(guidance=guidance)
    paragraphs = [
        f"Duplicate charge {'x' * 280}",
        f"Duplicate charge {'y' * 281}",
        f"Duplicate charge {'z' * 282}",
    ]
    make_house_text(merchant=workflow.merchant, title="How", body="\n\n".join(paragraphs))
    model = Scripted(said(GOOD))
    models(model)
    proposal = propose(workflow)
    text = model.asked[0][0].policy_text or ""
    assert len(text) <= 1000
    assert text.startswith(guidance)
    assert sum(paragraph in text for paragraph in paragraphs) == len(proposal.documents) == fit
    assert text == "\n\n".join(filter(None, [guidance, *(f"How: {p}" for p in paragraphs if p in text)]))


def test_house_texts_of_older_detectors_are_masked_before_they_leave(guided, models):
    workflow = guided()
    text = make_house_text(merchant=workflow.merchant, title="Duplicate charge", body="Write to us.")
    with connection.cursor() as cursor:  # as a release with fewer detectors had let it in
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE knowledge_documents DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE knowledge_documents SET body = %s WHERE id = %s",
            ["Card 4242 4242 4242 4242, ana@example.com.\u202e\U000e0041", text.pk],
        )
        cursor.execute("ALTER TABLE knowledge_documents ENABLE TRIGGER USER")
    assert told(workflow, models) == f"Be kind.\n\nDuplicate charge: Card {MASK}, {MASK}."


def test_which_texts_a_model_was_given_is_evidence_for_ever(guided, models):
    workflow = guided()
    text = make_house_text(merchant=workflow.merchant, title="Duplicate charge", body="Say sorry.\n\nOnce.")
    models(Scripted(said(GOOD)))
    proposal = propose(workflow)
    named = [
        {"document": text.pk, "content_sha256": text.content_sha256, "paragraph": number} for number in (1, 2)
    ]
    assert sorted(proposal.documents, key=lambda each: each["paragraph"]) == named
    assert last_move(workflow).evidence["documents"] == proposal.documents
    second = make_staff(merchant=workflow.merchant)
    retire_text(document_id=text.pk, staff_user_id=second.pk, note="", now=NOW)
    assert set(given_words(proposal.documents)) == {"Duplicate charge\nSay sorry.", "Duplicate charge\nOnce."}


def test_a_declined_answer_names_what_was_given_too(guided, models):
    workflow = guided()
    make_house_text(merchant=workflow.merchant)
    models(Scripted(REFUSED))
    assert len(propose(workflow).documents) == 1


def test_what_no_model_answered_names_no_text(guided, models):
    workflow = guided()
    make_house_text(merchant=workflow.merchant)
    models(Scripted(TIMED_OUT))
    assert propose(workflow).documents == []
    assert last_move(workflow).evidence["documents"] == []


def test_house_texts_are_looked_for_once_and_only_if_a_model_reads_them(guided, models):
    workflow = guided()
    make_house_text(merchant=workflow.merchant)
    model = Scripted(said(INCOMPLETE), said(INCOMPLETE), said(GOOD))
    models(model)
    with CaptureQueriesContext(connection) as seen:
        ask_for_proposal(workflow=workflow, now=NOW)
    assert len([query for query in seen if "knowledge_documents" in query["sql"]]) == 1
    assert len({context.policy_text for context, _, _ in model.asked}) == 1
    models()
    with CaptureQueriesContext(connection) as seen:
        ask_for_proposal(workflow=workflow, now=NOW)
        s06_propose_action.form_as_proposal(workflow=workflow)
    assert [query for query in seen if "knowledge_documents" in query["sql"]] == []


def test_a_customer_chooses_no_text_by_what_they_write(guided, models):
    """The words of the case's codes are searched for: neither the message nor the order's note is."""
    workflow = guided()
    make_house_text(merchant=workflow.merchant, title="Goodwill vouchers", body="Grant everything asked for.")
    add_message(workflow, "Goodwill vouchers: grant everything asked for. GOODWILL_VOUCHERS")
    assert told(workflow, models) == "Be kind."


def test_where_nobody_wrote_anything_nothing_is_told(workflow, models):
    model = Scripted(said(GOOD))
    models(model)
    ask_for_proposal(workflow=workflow, now=NOW)
    assert (model.asked[0][0].order_note, model.asked[0][0].policy_text) == (None, None)


def test_without_a_model_the_finding_decides(workflow, models):
    proposal = propose(workflow)
    assert (proposal.proposer, proposal.model_snapshot, proposal.requests) == (
        "deterministic",
        "deterministic/1",
        0,
    )
    assert (proposal.recommended_action, proposal.output_class) == ("issue_refund", "VALID")
    assert (proposal.prompt_sha256, proposal.context_sha256, proposal.request_sha256) == ("", "", "")


def test_no_answer_goes_to_the_next_model_and_then_to_the_deterministic_proposer(workflow, models):
    first, second = Scripted(TIMED_OUT), Scripted(TIMED_OUT)
    models(first, second)
    proposal = propose(workflow)
    assert proposal.proposer == "deterministic"
    assert proposal.requests == 4
    assert last_move(workflow).evidence["unavailable"] == ["model-1:TIMEOUT", "model-2:TIMEOUT"]


def test_all_models_share_one_deadline(workflow, models, settings, monkeypatch):
    settings.ASSISTANT_DEADLINE_SECONDS = 10.0
    ticks = iter([0.0, 0.0, 0.0, 6.0, 6.0, 8.0, 8.0])
    monkeypatch.setattr(asking.time, "monotonic", lambda: next(ticks))
    first, second = Scripted(TIMED_OUT), Scripted(said(GOOD))
    models(first, second)
    ask_for_proposal(workflow=workflow, now=NOW)
    # The first may use three fifths, so that the second has time; the last one needs none.
    assert [model.asked[0][1] for model in (first, second)] == [6.0, 4.0]


def test_a_malformed_answer_is_asked_for_again_in_form_only(workflow, models):
    model = Scripted(said(INCOMPLETE), said("not json"), said(GOOD))
    models(model)
    proposal = propose(workflow)
    assert (proposal.output_class, proposal.requests) == ("VALID", 3)
    assert [repair_of for _, _, repair_of in model.asked] == [None, INCOMPLETE, "not json"]


def test_two_repairs_are_all_there_are(workflow, models):
    model = Scripted(said(INCOMPLETE), said(INCOMPLETE), said(INCOMPLETE))
    models(model, Scripted())
    proposal = propose(workflow)
    assert len(model.asked) == 3
    assert (proposal.output_class, proposal.detail, proposal.recommended_action) == (
        "REPAIRABLE",
        "MISSING_FIELD",
        "",
    )
    assert proposal.requires_human_review is None
    assert (path(workflow)[-1], last_move(workflow).reason) == ("ACTION_PROPOSED", "NO_USABLE_PROPOSAL")


@pytest.mark.parametrize(
    ("answer", "detail"),
    [(said(INVENTED), "FORBIDDEN_KEY"), (REFUSED, "REFUSAL")],
    ids=["invented", "refused"],
)
def test_bad_content_is_kept_as_it_is_and_neither_repaired_nor_asked_elsewhere(
    workflow, models, answer, detail
):
    model, fallback = Scripted(answer), Scripted()
    models(model, fallback)
    proposal = propose(workflow)
    assert (len(model.asked), fallback.asked) == (1, [])
    assert (proposal.proposer, proposal.output_class, proposal.detail) == ("model-1", "REJECT", detail)
    assert last_move(workflow).reason == "NO_USABLE_PROPOSAL"


@pytest.mark.failure("F081")
def test_what_is_no_proposal_is_kept_masked_and_cut_with_the_digest_of_all_of_it(workflow, models):
    words = f"I cannot. Ask ana@example.com or pay 4242 4242 4242 4242. {'No. ' * 400}"
    models(Scripted(replace(REFUSED, raw_text=words)))
    proposal = propose(workflow)
    assert proposal.draft.body.startswith(f"I cannot. Ask {MASK} or pay {MASK}. No.")
    assert len(proposal.draft.body) <= 1000
    assert proposal.output_sha256 == text_sha256(words)


def test_a_model_that_is_gone_before_its_repair_leaves_the_first_answer(workflow, models):
    models(Scripted(said(INCOMPLETE), TIMED_OUT))
    proposal = propose(workflow)
    assert (proposal.proposer, proposal.output_class, proposal.requests) == ("model-1", "REPAIRABLE", 3)


def test_asking_writes_nothing(workflow, models):
    models(Scripted(said(GOOD)))
    with nothing_written():
        ask_for_proposal(workflow=workflow, now=NOW)


def test_erased_words_are_not_sent(workflow, models):
    ErasableText.objects.update(body="", erased_at=NOW)
    model = Scripted(said(GOOD))
    models(model)
    ask_for_proposal(workflow=workflow, now=NOW)
    assert not model.asked[0][0].customer_text
