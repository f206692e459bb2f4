from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from approvals.models import ApprovalEvent, ApprovalRequest
from approvals.services import (
    CommandToApprove,
    DecisionRefusedError,
    consume,
    expire,
    grant_by_rule,
    request_approval,
    void,
    vote,
)
from approvals.states import ApprovalState
from ledger.actors import Actor
from ledger.transitions import RowNotLockedError, TransitionRefusedError, Why, append_record, lock_row
from tests.factories import NOW, make_merchant
from tests.stages.trail import last_move, nothing_written, path

pytestmark = pytest.mark.django_db
WHY = Why(actor=Actor.system("test"), stage="OBTAIN_APPROVAL", reason="TEST", evidence={"seen": "charges"})
LATER = NOW + timedelta(hours=1)


def ask(*, needed=1, rule="", number=1, fingerprint="f" * 64):
    wanted = CommandToApprove(
        merchant_id=make_merchant().pk,
        subject_id="wf_1",
        command={"amount_minor_units": 4999, "currency": "USD"},
        command_number=number,
        request_fingerprint=fingerprint,
        maker_id="user:1",
        policy_version="REF-DUP v7",
        valid_for=timedelta(hours=24),
    )
    with transaction.atomic():
        return request_approval(wanted, approvals_needed=needed, rule=rule, why=WHY, now=NOW)


def answer(approval, voter_id="user:2", *, approve=True, fingerprint=None):
    with transaction.atomic():
        return vote(
            approval_id=approval.pk,
            approve=approve,
            fingerprint=fingerprint or approval.request_fingerprint,
            voter_id=voter_id,
            why=WHY,
            now=LATER,
        )


def locked(approval):
    return lock_row(ApprovalRequest, approval.pk)


def in_state(state):
    """Return an approval that reached a state through the services."""
    approval = ask(rule="AUTO_LIMIT")
    with transaction.atomic():
        if state is ApprovalState.REJECTED:
            answer(approval, approve=False)
        elif state is ApprovalState.VOIDED:
            void(approval_id=approval.pk, why=WHY, now=NOW)
        elif state is not ApprovalState.PENDING:
            grant_by_rule(locked(approval), WHY, now=NOW)
            if state is ApprovalState.CONSUMED:
                consume(locked(approval), WHY, now=NOW)
            elif state is ApprovalState.EXPIRED:
                expire(locked(approval), WHY, now=NOW)
    assert path(approval)[-1] == state
    return ApprovalRequest.objects.get(pk=approval.pk)


def test_a_command_is_frozen_with_everything_that_decides_about_it():
    approval = ApprovalRequest.objects.get(pk=ask(needed=2).pk)
    assert approval.command == {"amount_minor_units": 4999, "currency": "USD"}
    assert (approval.subject_kind, approval.subject_id, approval.command_number) == ("REFUND", "wf_1", 1)
    assert (approval.maker_id, approval.approvals_needed, approval.rule) == ("user:1", 2, "")
    assert (approval.policy_version, approval.valid_for_hours, approval.expires_at) == (
        "REF-DUP v7",
        24,
        None,
    )
    assert path(approval) == ["PENDING"]
    assert last_move(approval).evidence == {"seen": "charges"}


@pytest.mark.failure("F109")
@pytest.mark.parametrize(
    "second", [{"fingerprint": "e" * 64}, {"number": 2}], ids=["same number", "same command"]
)
def test_a_command_is_put_up_for_approval_once(second):
    ask()
    make_merchant()
    before = ApprovalEvent.objects.count()
    with pytest.raises(IntegrityError):
        ask(**second)
    assert (ApprovalRequest.objects.count(), ApprovalEvent.objects.count()) == (1, before)


# -- people


def test_one_person_grants_what_needs_one_and_its_time_runs_from_there():
    approval = ask()
    granted = answer(approval)
    assert (granted.state, granted.expires_at) == ("GRANTED", LATER + timedelta(hours=24))
    assert path(approval) == ["PENDING", "GRANTED"]
    recorded = ApprovalEvent.objects.get(voter_id="user:2")
    assert (recorded.kind, recorded.state_sequence) == ("RECORD", None)
    assert last_move(approval).evidence == {
        "seen": "charges",
        "approved_by": ["user:2"],
        "last_vote": recorded.pk,
    }


def test_two_different_people_grant_what_needs_two():
    approval = ask(needed=2)
    assert answer(approval, "user:2").state == "PENDING"
    assert path(approval) == ["PENDING"]
    assert answer(approval, "user:3").state == "GRANTED"
    assert last_move(approval).evidence["approved_by"] == ["user:2", "user:3"]


@pytest.mark.parametrize("needed", [1, 2])
def test_one_rejection_is_enough(needed):
    approval = ask(needed=needed)
    assert answer(approval, approve=False).state == "REJECTED"
    assert path(approval) == ["PENDING", "REJECTED"]


def test_a_second_persons_rejection_outweighs_the_first_ones_yes():
    approval = ask(needed=2)
    answer(approval, "user:2")
    assert answer(approval, "user:3", approve=False).state == "REJECTED"


@pytest.mark.failure("F103")
@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"voter_id": "user:1"}, "OWN_REQUEST"),
        ({"voter_id": "user:2"}, "ALREADY_VOTED"),
        ({"voter_id": "user:3", "fingerprint": "0" * 64}, "FINGERPRINT_CHANGED"),
    ],
)
@pytest.mark.parametrize("approve", [True, False])
def test_a_refused_vote_leaves_nothing(facts, code, approve):
    approval = ask(needed=3)
    answer(approval, "user:2")
    with nothing_written(), pytest.raises(DecisionRefusedError) as refused:
        answer(approval, approve=approve, **facts)
    assert refused.value.code == code


@pytest.mark.failure("F107")
@pytest.mark.parametrize("state", [state for state in ApprovalState if state is not ApprovalState.PENDING])
@pytest.mark.parametrize("approve", [True, False])
def test_what_is_decided_takes_no_more_votes(state, approve):
    approval = in_state(state)
    with nothing_written(), pytest.raises(DecisionRefusedError) as refused:
        answer(approval, "user:9", approve=approve)
    assert refused.value.code == "NOT_PENDING"


@pytest.mark.failure("F107")
def test_the_database_keeps_one_vote_of_each_person():
    approval = ask(needed=3)
    answer(approval, "user:2")
    with (
        nothing_written(),
        pytest.raises(IntegrityError, match="approval_vote_once_per_person"),
        transaction.atomic(),
    ):
        append_record(locked(approval), WHY, now=NOW, voter_id="user:2")


# -- rules


def test_a_rule_grants_what_cites_it():
    approval = ask(rule="AUTO_LIMIT")
    with transaction.atomic():
        grant_by_rule(locked(approval), WHY, now=LATER)
    stored = ApprovalRequest.objects.get(pk=approval.pk)
    assert (stored.state, stored.rule, stored.expires_at) == (
        "GRANTED",
        "AUTO_LIMIT",
        LATER + timedelta(hours=24),
    )
    assert not ApprovalEvent.objects.exclude(voter_id="").exists()


def test_what_was_put_before_people_is_granted_by_no_rule():
    approval = ask()
    with nothing_written(), pytest.raises(DecisionRefusedError) as refused, transaction.atomic():
        grant_by_rule(locked(approval), WHY, now=NOW)
    assert refused.value.code == "NOT_ALLOWED"


# -- use and end


@pytest.mark.parametrize("state", list(ApprovalState))
@pytest.mark.parametrize("to", [consume, expire])
def test_only_a_granted_approval_is_used_or_expires(to, state):
    approval = in_state(state)
    if state is ApprovalState.GRANTED:
        with transaction.atomic():
            to(locked(approval), WHY, now=LATER)
        assert path(approval)[-1] == ("CONSUMED" if to is consume else "EXPIRED")
    else:
        with nothing_written(), pytest.raises(TransitionRefusedError), transaction.atomic():
            to(locked(approval), WHY, now=LATER)


@pytest.mark.parametrize("state", list(ApprovalState))
def test_what_still_stands_is_voided_and_an_end_is_left_as_it_is(state):
    approval = in_state(state)
    before = path(approval)
    with transaction.atomic():
        void(approval_id=approval.pk, why=WHY, now=LATER)
    standing = state in {ApprovalState.PENDING, ApprovalState.GRANTED, ApprovalState.CONSUMED}
    assert path(approval) == ([*before, "VOIDED"] if standing else before)


def test_a_row_that_is_not_locked_is_not_used():
    approval = in_state(ApprovalState.GRANTED)
    with nothing_written(), pytest.raises(RowNotLockedError), transaction.atomic():
        consume(approval, WHY, now=NOW)
