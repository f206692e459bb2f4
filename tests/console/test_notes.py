import pytest
from django.test import Client

from approvals.models import ReviewCase
from approvals.services import DecisionRefusedError
from ledger.models import ErasableText
from refunds import pipeline
from refunds.states import WorkflowState
from tests.factories import NOW, latest_approval, make_staff, workflow_in_state
from tests.stages.trail import nothing_written

pytestmark = pytest.mark.django_db


def test_a_reviewers_note_is_kept_shown_once_decided_and_erasable():
    workflow = workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL)
    reviewer = make_staff(merchant=workflow.merchant)
    approval = latest_approval(workflow)
    pipeline.decide(
        approval_id=approval.pk, decision="reject", staff_user_id=reviewer.pk,
        fingerprint=approval.request_fingerprint, reason_code="NOT_A_DUPLICATE",
        note="Two <b>separate</b> purchases.", now=NOW,
    )  # fmt: skip
    vote = approval.events.exclude(voter_id="").get()
    kept = ErasableText.objects.get(pk=vote.evidence["note_text"])
    assert (kept.body, kept.sha256) == ("Two <b>separate</b> purchases.", vote.evidence["note_sha256"])
    ticket = ReviewCase.objects.get(subject_id=workflow.pk).ticket
    client = Client()
    client.force_login(reviewer)
    page = client.get(f"/admin/review/{ticket}/").content.decode()
    assert page.count("Note: Two &lt;b&gt;separate&lt;/b&gt; purchases.") == 1

    ErasableText.objects.filter(pk=kept.pk).update(body="", erased_at=NOW)
    assert "separate" not in client.get(f"/admin/review/{ticket}/").content.decode()


@pytest.mark.parametrize(
    ("note", "code"),
    [
        ("Paid with 4242 4242 4242 4242.", "NOTE_HAS_CARD_NUMBER"),
        ("a\u202eb", "NOTE_NOT_READABLE"),
        ("x" * 2001, "NOTE_TOO_LONG"),
    ],
)
def test_a_decision_whose_note_may_not_be_kept_is_not_recorded(note, code):
    workflow = workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL)
    approval, reviewer = latest_approval(workflow), make_staff(merchant=workflow.merchant)
    with nothing_written(), pytest.raises(DecisionRefusedError) as refused:
        pipeline.decide(
            approval_id=approval.pk, decision="reject", staff_user_id=reviewer.pk,
            fingerprint=approval.request_fingerprint, reason_code="NOT_A_DUPLICATE", note=note, now=NOW,
        )  # fmt: skip
    assert refused.value.code == code
