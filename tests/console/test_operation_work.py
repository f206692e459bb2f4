"""Work on an operation that nothing proves, through the pages: both people, every refusal, and what is shown."""

from datetime import timedelta

import pytest

from approvals.models import ApprovalRequest, EvidenceAttachment, ReviewCase
from ledger.clock import now_utc
from refunds.models import GatewayResponse, RefundOperation
from refunds.states import CheckVerdict
from tests.console.conftest import look, ticket_of
from tests.console.operation_pages import at, entered
from tests.factories import (
    add_attempt,
    make_merchant,
    make_staff,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sent(operation_nudges):
    return operation_nudges


def state(operation):
    return RefundOperation.objects.get(pk=operation.pk).state


def proposed(client, operation, staff):
    client.force_login(staff)
    client.post(at(operation, "claim/"))
    answer = client.post(at(operation, f"give-up/{operation.pk}/"), entered())
    assert answer.status_code == 302, answer.text
    return ApprovalRequest.objects.get(subject_kind="EVIDENCE", state="PENDING")


def test_two_people_give_an_operation_up_page_by_page(client, merchant, reviewer, operation, sent):
    client.force_login(reviewer)
    assert "Claim this case first" in client.get(at(operation)).text
    client.post(at(operation, "claim/"))
    page = client.get(at(operation))
    assert "Give up the refund of $49.99…" in page.text
    ask = client.get(at(operation, f"give-up/{operation.pk}/"))
    for shown in (
        "Northwind", "$49.99", operation.payment_reference, f"#{operation.workflow.order.number}",
        operation.idempotency_key, "Nothing changes until a second person confirms.",
        "Propose to give up the refund of $49.99</button>", 'type="datetime-local"',
    ):  # fmt: skip
        assert shown in ask.text
    approval = proposed(client, operation, reviewer)
    assert EvidenceAttachment.objects.get().approval_id == approval.pk
    assert state(operation) == "MANUAL_REVIEW"

    mine = client.get(at(operation))
    assert "You proposed this, so somebody else must confirm it." in mine.text
    assert at(operation, f"confirm/{approval.pk}/") not in mine.text
    assert client.post(at(operation, f"confirm/{approval.pk}/"), {}).status_code == 409
    assert "waits for a second person" in client.get("/admin/review/").text

    client.force_login(make_staff(merchant=merchant))
    page = client.get(at(operation))
    assert "There is &lt;b&gt;no&lt;/b&gt; refund with this key." in page.text
    assert f"by {reviewer.username}" in page.text
    assert "A colleague&#x27;s proposal about this operation waits for a second person." in page.text
    address = at(operation, f"confirm/{approval.pk}/")
    assert f"{address}?seen={approval.request_fingerprint}" in page.text
    confirm = client.get(f"{address}?seen={approval.request_fingerprint}")
    for shown in (
        "Northwind", "$49.99", operation.payment_reference, "chat_7", "The provider has no refund for this operation",
        f"{approval.request_fingerprint[:4]} {approval.request_fingerprint[4:8]}",
        "Confirm giving up the refund of $49.99</button>",
    ):  # fmt: skip
        assert shown in confirm.text
    assert client.post(address, {}).status_code == 422
    decision = {"fingerprint": approval.request_fingerprint, "reason_code": "EVIDENCE_CHECKED", "note": ""}
    done = client.post(address, decision, follow=True)
    assert "Given up: the refund of $49.99." in done.text
    assert "Note: Asked by chat." in done.text
    assert state(operation) == "CANCELLED"
    assert [nudge.task for nudge in sent] == ["deliver_notifications"]
    again = client.post(address, decision)
    assert (again.status_code, "was decided" in again.text) == (409, True)


@pytest.mark.parametrize("http_status", [500, 200])
def test_both_people_are_told_that_an_answer_does_not_rule_the_refund_out(
    client, merchant, reviewer, operation, http_status
):
    """A kept fault may take effect later, and a success that could not be read was still one."""
    said = "does not rule this refund out"
    client.force_login(reviewer)
    client.post(at(operation, "claim/"))
    assert said not in client.get(at(operation, f"give-up/{operation.pk}/")).text
    attempt = add_attempt(operation, now=now_utc() - timedelta(days=1))
    GatewayResponse.objects.create(
        attempt=attempt, answer_class="UNKNOWN", http_status=http_status, received_at=attempt.started_at
    )
    assert said in client.get(at(operation, f"give-up/{operation.pk}/")).text
    approval = proposed(client, operation, reviewer)
    client.force_login(make_staff(merchant=merchant))
    assert said in client.get(at(operation, f"confirm/{approval.pk}/")).text
    assert said not in client.get(at(operation, f"decline/{approval.pk}/")).text


def test_a_declined_proposal_needs_its_reason_in_words_and_changes_nothing(
    client, merchant, reviewer, operation
):
    approval = proposed(client, operation, reviewer)
    client.force_login(make_staff(merchant=merchant))
    address = at(operation, f"decline/{approval.pk}/")
    said = {"fingerprint": approval.request_fingerprint, "reason_code": "REFUND_FOUND", "note": ""}
    bare = client.post(address, said)
    assert bare.status_code == 422
    assert "your colleague needs the reason in words" in bare.text
    done = client.post(address, said | {"note": "It is re_7."}, follow=True)
    assert "Declined, and nothing changed: the refund of $49.99." in done.text
    assert state(operation) == "MANUAL_REVIEW"
    assert ApprovalRequest.objects.get(pk=approval.pk).state == "REJECTED"


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({"reason_code": "", "source": "", "seen_at": "", "provider_reference": "", "words": ""},
         ["Choose a reason.", "Choose where you looked.", "Enter when you looked.", "word for word."]),
        ({"words": "card 4242 4242 4242 4242 it says"}, ["contains a card number", "[card number removed] it says"]),
        ({"seen_at": "yesterday"}, ["Enter a date and a time"]),
        ({"reason_code": "OTHER", "note": ""}, ["Say in the note what the reason is."]),
    ],
)  # fmt: skip
def test_what_is_missing_or_unusable_is_said_beside_its_field(as_reviewer, operation, changed, shown):
    as_reviewer.post(at(operation, "claim/"))
    answer = as_reviewer.post(at(operation, f"give-up/{operation.pk}/"), entered(**changed))
    assert answer.status_code == 422
    for text in shown:
        assert text in answer.text
    assert "4242 4242" not in answer.text
    assert not ApprovalRequest.objects.filter(subject_kind="EVIDENCE").exists()


@pytest.mark.parametrize(
    ("changed", "field", "shown"),
    [
        ({"seen_at": "2199-01-01T00:00"}, "seen_at", "cannot lie in the future"),
        ({"seen_at": "2020-01-01T00:00"}, "seen_at", "says nothing about it"),
        ({"seen_at": "0001-01-01T00:00+14:00"}, "seen_at", "says nothing about it"),
        ({"seen_at": "9999-12-31T23:59-14:00"}, "seen_at", "cannot lie in the future"),
        ({"provider_reference": "a chat"}, "provider_reference", "what you saw"),
        ({"provider_reference": "\u202etahc"}, "provider_reference", "what you saw"),
        ({"provider_reference": "4242424242424242"}, "provider_reference", "what you saw"),
    ],
)
def test_evidence_that_is_refused_leaves_everything_that_was_typed(
    as_reviewer, operation, changed, field, shown
):
    as_reviewer.post(at(operation, "claim/"))
    answer = as_reviewer.post(at(operation, f"give-up/{operation.pk}/"), entered(**changed))
    assert answer.status_code == 422
    assert shown in answer.text
    assert f'id="id_{field}_error"' in answer.text
    assert "There is &lt;b&gt;no&lt;/b&gt; refund with this key." in answer.text
    assert "Asked by chat." in answer.text
    assert "4242424242424242" not in answer.text
    assert not ApprovalRequest.objects.filter(subject_kind="EVIDENCE").exists()


def test_a_look_that_is_too_old_comes_first(as_reviewer, operation):
    as_reviewer.post(at(operation, "claim/"))
    look(operation, at=now_utc() - timedelta(hours=2))
    answer = as_reviewer.get(at(operation, f"give-up/{operation.pk}/"))
    assert answer.status_code == 409
    assert "The provider was not asked about this refund within the last hour" in answer.text
    look(operation, verdict=CheckVerdict.STILL_AMBIGUOUS, complete=False)
    assert "its list could not be read" in as_reviewer.get(at(operation, f"give-up/{operation.pk}/")).text


@pytest.mark.failure("F113")
@pytest.mark.failure("F099")
def test_readers_and_strangers_propose_and_decide_nothing(client, merchant, reviewer, operation):
    approval = proposed(client, operation, reviewer)
    paths = [
        f"give-up/{operation.pk}/",
        f"confirm/{approval.pk}/",
        f"decline/{approval.pk}/",
        f"reference/{operation.pk}/",
    ]
    for staff, status in (
        (make_staff(merchant=merchant, can_approve=False), 403),
        (make_staff(merchant=make_merchant()), 404),
    ):
        client.force_login(staff)
        for path in paths:
            assert client.post(at(operation, path), entered()).status_code == status
    client.force_login(make_staff(merchant=merchant))
    for path in (
        "give-up/rfop_none/",
        "confirm/apr_none/",
        "reference/rfop_none/",
        f"confirm/{operation.approval_id}/",
    ):
        assert client.get(at(operation, path)).status_code == 404
    assert state(operation) == "MANUAL_REVIEW"


def test_a_reference_that_a_person_gives_is_looked_up_and_moves_nothing(as_reviewer, operation, sent):
    as_reviewer.post(at(operation, "claim/"))
    address = at(operation, f"reference/{operation.pk}/")
    ask = as_reviewer.get(address)
    assert "Look up the refund of $49.99</button>" in ask.text
    for wrong in ("", "re 1", "re/../1", "re_1\u202e", "re_1\x00", "x" * 256, "4242424242424242"):
        refused = as_reviewer.post(address, {"reference": wrong, "note": ""})
        assert (refused.status_code, "4242" in refused.text) == (422, False)
    assert as_reviewer.post(address, {"reference": " re_77\n", "note": ""}).status_code == 302
    assert [(n.task, n.kwargs["seen_reference"], n.kwargs["cause"]) for n in sent] == [
        ("reconcile_operation", "re_77", "PERSON")
    ]
    assert state(operation) == "MANUAL_REVIEW"
    event = operation.events.latest("pk")
    assert (event.reason, event.evidence["processor_reference"]) == ("REFERENCE_GIVEN", "re_77")


def test_a_case_that_a_colleague_holds_offers_neither(client, merchant, reviewer, operation):
    approval = proposed(client, operation, reviewer)
    ReviewCase.objects.filter(ticket=ticket_of(operation.workflow)).update(
        claimed_by="user:9999", claimed_until=now_utc() + timedelta(minutes=5)
    )
    client.force_login(make_staff(merchant=merchant))
    page = client.get(at(operation))
    assert at(operation, f"confirm/{approval.pk}/") not in page.text
    assert client.get(at(operation, f"confirm/{approval.pk}/")).status_code == 409
