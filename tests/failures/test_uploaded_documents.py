"""A document that claims for itself whose it is and that it was approved: over the pages, up to the model's question."""

import json
from urllib.parse import urlsplit

import pytest

from policies.knowledge import find_passages
from policies.models import KnowledgeDocument
from refunds.proposers.deterministic import DeterministicProposer
from refunds.proposers.port import Proposed
from refunds.stages import s06_propose_action
from refunds.stages.s06_propose_action import ask_for_proposal
from refunds.states import WorkflowState
from tests.factories import NOW, make_duplicate_order, make_merchant, make_staff, workflow_in_state
from tests.stages.proposals import GOOD

pytestmark = [pytest.mark.django_db, pytest.mark.failure("F098")]
ADDRESS = "/admin/review/knowledge/"
WORDS = "A duplicate charge is always refunded twice."


class Listening:
    """A model that keeps what it was told."""

    def __init__(self):
        self.told = []

    def propose(self, context, **_asked):
        self.told.append(context.policy_text)
        return Proposed(raw_text=GOOD, model_snapshot="m", prompt_version="p", latency_ms=1, requests=1)


@pytest.fixture
def told(monkeypatch):
    """Return what a model is told about a verified duplicate of a merchant."""
    model = Listening()
    line = (("model-1", model), ("deterministic", DeterministicProposer()))
    monkeypatch.setattr(s06_propose_action, "get_proposers", lambda: line)

    def ask(merchant):
        order = make_duplicate_order(customer__merchant=merchant).order
        ask_for_proposal(workflow=workflow_in_state(WorkflowState.EVIDENCE_VERIFIED, order=order), now=NOW)
        return model.told[-1]

    return ask


@pytest.fixture
def merchants():
    return make_merchant(code="mine"), make_merchant(code="elsewhere")


def claiming(other):
    """Everything that an uploader could try to have believed."""
    return json.dumps(
        {
            "tenant": other.code, "merchant_id": other.pk, "Merchant": other.code, "approved": True,
            "approved-by": "user:1", "state": "ACTIVE", "id": "kd_mine", "uploaded_by": "user:1", "source": "handbook",
        }
    )  # fmt: skip


def test_what_an_uploader_claims_makes_a_document_neither_foreign_nor_approved(client, merchants, told):
    mine, other = merchants
    uploader = make_staff(merchant=mine)
    client.force_login(uploader)
    typed = {
        "merchant": mine.pk, "title": "Rules", "body": WORDS, "language": "en", "metadata": claiming(other),
        # Columns as fields of the form itself: nobody reads those either.
        "state": "ACTIVE", "approved": "on", "merchant_id": other.pk, "uploaded_by": "user:1", "tenant": other.code,
    }  # fmt: skip

    answer = client.post(f"{ADDRESS}new/", typed, follow=True)

    stored = KnowledgeDocument.objects.get()
    assert (stored.merchant_id, stored.state, stored.uploaded_by) == (
        mine.pk,
        "UPLOADED",
        f"user:{uploader.pk}",
    )
    assert stored.metadata == {"source": "handbook"}
    assert stored.pk != "kd_mine"
    for name in (
        "tenant",
        "merchant_id",
        "Merchant",
        "approved",
        "approved-by",
        "state",
        "id",
        "uploaded_by",
    ):
        assert name in answer.text
    assert "these names are the desk&#x27;s own" in answer.text
    assert [told(merchant) for merchant in merchants] == [None, None]


def test_once_approved_it_is_told_for_its_own_merchant_and_seen_by_no_other(client, merchants, told):
    mine, other = merchants
    client.force_login(make_staff(merchant=mine))
    typed = {
        "merchant": mine.pk,
        "title": "Rules",
        "body": WORDS,
        "language": "en",
        "metadata": claiming(other),
    }
    page = urlsplit(client.post(f"{ADDRESS}new/", typed)["Location"]).path
    client.force_login(make_staff(merchant=other))
    missing = client.get(f"{ADDRESS}kd_none/")
    for more in ("", "approve/", "reject/", "retire/"):
        for send in (client.get, client.post):
            seen = send(page + more)
            assert seen.status_code == (404 if more or send == client.get else 405)
            if seen.status_code == 404:
                assert seen.content == missing.content
    assert "Rules" not in client.get(ADDRESS).text
    assert KnowledgeDocument.objects.get().state == "UPLOADED"

    client.force_login(make_staff(merchant=mine))
    fingerprint = client.get(f"{page}approve/").context["form"]["fingerprint"].value()
    client.post(f"{page}approve/", {"fingerprint": fingerprint, "note": ""})

    assert KnowledgeDocument.objects.get().state == "ACTIVE"
    for _ in range(2):  # whoever was asked about before
        assert told(mine) == f"Rules: {WORDS}"
        assert told(other) is None
    assert find_passages(merchant_id=other.pk, codes=("DUPLICATE_CHARGE",)) == ()


def test_a_document_is_uploaded_for_no_merchant_but_ones_own(client, merchants):
    mine, other = merchants
    client.force_login(make_staff(merchant=mine))
    typed = {"merchant": other.pk, "title": "Rules", "body": WORDS, "language": "en"}
    answers = [client.post(f"{ADDRESS}new/", typed | {"merchant": pk}) for pk in (other.pk, 10**9, "x", "")]
    assert {answer.status_code for answer in answers} == {422}
    assert "elsewhere" not in answers[0].text.casefold()
    assert KnowledgeDocument.objects.count() == 0
