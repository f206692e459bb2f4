from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.port import (
    NO_MONEY,
    AnswerClass,
    EventFact,
    LookupAnswer,
    ProviderStatus,
    RefundFact,
    SettlementFact,
)
from refunds.states import OPERATION_TABLE, CheckVerdict, OperationState
from refunds.verdicts import (
    JUDGED_BY_EARLIER_ANSWERS,
    AttemptFacts,
    Judgement,
    OperationFacts,
    judge,
    safe_until,
    state_after_answer,
    state_after_check,
)

_A, _O, _V = AnswerClass, OperationState, CheckVerdict
OURS = OperationFacts(
    operation_id="rfop_1", amount_minor_units=4999, currency="USD", processor_reference=None
)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
IN_FLIGHT, SAFE = timedelta(minutes=15), timedelta(hours=22)
POSITIVE = {_A.ACCEPTED: _O.COMPLETED, _A.PENDING: _O.PROVIDER_PENDING, _A.FAILED: _O.FAILED}
states = st.sampled_from(_O)
answers = st.sampled_from(_A)
earlier_answers = st.lists(st.none() | answers, max_size=6)


def may_have_executed(earlier):
    return any(cls is not _A.NOT_EXECUTED for cls in earlier)


# -- answers


@given(states, answers, earlier_answers)
def test_an_answer_moves_along_a_legal_jump_or_not_at_all(state, answer, earlier):
    target = state_after_answer(state, answer, earlier=earlier)
    assert target is None or OPERATION_TABLE.allows(state, target)


@given(states, st.sampled_from(sorted(POSITIVE)), earlier_answers)
def test_an_object_of_ours_moves_the_operation_unless_it_tells_nothing_new(state, answer, earlier):
    said = POSITIVE[answer]
    known = state is said or (said is _O.PROVIDER_PENDING and state in {_O.COMPLETED, _O.FAILED})
    target = state_after_answer(state, answer, earlier=earlier)
    assert (target is None) is known
    if OPERATION_TABLE.allows(state, said) and not known:
        assert target is said
    elif target is not None:
        assert target is _O.MANUAL_REVIEW


@given(
    states,
    st.sampled_from(sorted(frozenset(_A) - JUDGED_BY_EARLIER_ANSWERS)),
    earlier_answers,
    earlier_answers,
)
def test_an_object_of_ours_or_no_answer_means_the_same_whatever_came_before(state, answer, some, others):
    assert state_after_answer(state, answer, earlier=some) == state_after_answer(
        state, answer, earlier=others
    )


@given(answers, earlier_answers.filter(may_have_executed))
def test_a_refusal_proves_nothing_while_an_earlier_attempt_may_have_executed(answer, earlier):
    target = state_after_answer(_O.SUBMITTED, answer, earlier=earlier)
    assert target is POSITIVE.get(answer, _O.STATUS_UNKNOWN)


@given(st.lists(st.just(_A.NOT_EXECUTED), max_size=6), answers)
def test_of_attempts_that_reached_nobody_only_the_newest_counts(earlier, answer):
    expected = POSITIVE | {
        _A.NOT_EXECUTED: _O.CREATED,
        _A.REFUSED: _O.REJECTED,
        _A.UNKNOWN: _O.STATUS_UNKNOWN,
    }
    assert state_after_answer(_O.SUBMITTED, answer, earlier=earlier) is expected[answer]


@given(
    states.filter(lambda state: state is not _O.SUBMITTED),
    st.sampled_from([_A.REFUSED, _A.NOT_EXECUTED, _A.UNKNOWN]),
    earlier_answers,
)
def test_a_late_answer_without_an_object_moves_nothing(state, answer, earlier):
    assert state_after_answer(state, answer, earlier=earlier) is None


@pytest.mark.failure("F013")
@given(states, earlier_answers)
def test_a_lost_answer_is_never_a_failure(state, earlier):
    assert state_after_answer(state, _A.UNKNOWN, earlier=earlier) in {None, _O.STATUS_UNKNOWN}


@pytest.mark.parametrize("state", [_O.REJECTED, _O.CANCELLED, _O.CREATED])
@pytest.mark.parametrize("answer", sorted(POSITIVE))
def test_an_object_of_ours_contradicts_an_operation_that_is_said_never_to_have_executed(state, answer):
    assert state_after_answer(state, answer, earlier=[]) is _O.MANUAL_REVIEW


# -- checks


def judged(verdict, *, contradictory=False):
    return Judgement(verdict, None, (), contradictory=contradictory)


@given(states, st.sampled_from(_V), st.booleans())
def test_a_verdict_moves_along_a_legal_jump_or_not_at_all(state, verdict, contradictory):
    target = state_after_check(state, judged(verdict, contradictory=contradictory))
    assert target is None or OPERATION_TABLE.allows(state, target)


@given(states)
def test_what_is_missing_moves_only_what_is_in_doubt(state):
    in_doubt = state in {_O.STATUS_UNKNOWN, _O.MANUAL_REVIEW}
    assert state_after_check(state, judged(_V.NOT_FOUND_YET)) is None
    assert state_after_check(state, judged(_V.STILL_AMBIGUOUS)) is None
    absent = state_after_check(state, judged(_V.CONFIRMED_ABSENT))
    rejected = state_after_check(state, judged(_V.CONFIRMED_REJECTED))
    assert (absent, rejected) == ((_O.CONFIRMED_ABSENT, _O.REJECTED) if in_doubt else (None, None))


@pytest.mark.failure("F021")
@given(st.lists(st.just(_A.NOT_EXECUTED), max_size=3))
def test_a_refusal_because_money_is_back_already_is_looked_into_first(earlier):
    target = state_after_answer(_O.SUBMITTED, _A.REFUSED, earlier=earlier, went_back_before=True)
    assert target is _O.STATUS_UNKNOWN


refunds = st.builds(
    RefundFact,
    processor_reference=st.sampled_from(["re_1", "re_2", "re_3"]),
    operation_id=st.sampled_from([None, "rfop_1", "rfop_2"]),
    amount_minor_units=st.sampled_from([4999, 5000]),
    currency=st.sampled_from(["USD", "EUR"]),
    provider_status=st.just("succeeded"),
    status=st.sampled_from(ProviderStatus),
    payment_reference=st.just("ch_1"),
    created_at=st.none(),
    failure_reason=st.none(),
)
lookups = st.builds(
    LookupAnswer,
    surface=st.sampled_from(["refunds.list", "refunds.retrieve"]),
    complete=st.booleans(),
    refunds=st.lists(refunds, max_size=4).map(tuple),
    http_status=st.sampled_from([None, 200, 500]),
    error_code=st.none(),
    detail=st.just(""),
    attempts=st.just(1),
)
attempts = st.lists(
    st.builds(
        AttemptFacts,
        started_at=st.integers(0, 48 * 60).map(lambda minutes: NOW - timedelta(minutes=minutes)),
        answer_class=st.none() | st.sampled_from([_A.UNKNOWN, _A.REFUSED, _A.NOT_EXECUTED]),
        http_status=st.sampled_from([None, 400, 409, 500, 503]),
    ),
    min_size=1,
    max_size=4,
).map(lambda rows: tuple(sorted(rows, key=lambda row: row.started_at)))
facts = st.builds(
    OperationFacts,
    operation_id=st.just("rfop_1"),
    amount_minor_units=st.just(4999),
    currency=st.just("USD"),
    processor_reference=st.sampled_from([None, "re_1"]),
    attempts=attempts,
)
checks = st.lists(lookups, max_size=3)


def ours(known, found):
    """Restate whose a refund is: it carries our id, or it is the one that an earlier answer named."""
    return {
        refund.processor_reference
        for lookup in found
        for refund in lookup.refunds
        if refund.operation_id == known.operation_id
        or refund.processor_reference == known.processor_reference
    }


def look(known, found, now=NOW, **told):
    return judge(known, found, contract=STRIPE_V1, now=now, **told)


def may_be_there(attempt):
    return attempt.answer_class not in {_A.REFUSED, _A.NOT_EXECUTED}


@pytest.mark.failure("F011")
@given(facts, checks)
def test_absence_needs_the_whole_rule(known, found):
    """Restate the rule from the design: list, horizon, no 500, never ours before, key still safe."""
    verdict = look(known, found).verdict
    doubtful = [attempt for attempt in known.attempts if may_be_there(attempt)]
    horizon_passed = all(attempt.started_at + IN_FLIGHT <= NOW for attempt in doubtful)
    may_conclude = (
        not ours(known, found)
        and known.processor_reference is None
        and any(lookup.complete and lookup.surface == "refunds.list" for lookup in found)
        and horizon_passed
        and not any(attempt.http_status == 500 for attempt in doubtful)
    )
    refused = known.attempts[-1].answer_class is _A.REFUSED
    safe = known.attempts[0].started_at + SAFE > NOW
    assert (verdict is _V.CONFIRMED_REJECTED) is (may_conclude and refused)
    assert (verdict is _V.CONFIRMED_ABSENT) is (may_conclude and not refused and safe)


def contradicts(known, found, reference):
    """Restate: another reference is known as ours, or the payment's complete list knows nothing of this one."""
    if known.processor_reference is not None:
        return reference != known.processor_reference
    whole = [lookup for lookup in found if lookup.surface == "refunds.list" and lookup.complete]
    return bool(whole) and not any(
        refund.processor_reference == reference for lookup in whole for refund in lookup.refunds
    )


@given(facts, checks)
def test_the_verdict_follows_from_the_refunds_that_are_ours(known, found):
    judgement, mine = look(known, found), ours(known, found)
    if len(mine) > 1:
        assert (judgement.verdict, judgement.contradictory) == (_V.STILL_AMBIGUOUS, True)
    elif mine and contradicts(known, found, *mine):
        assert (judgement.verdict, judgement.contradictory) == (_V.STILL_AMBIGUOUS, True)
        assert judgement.refund is None
    elif mine:
        assert judgement.refund.processor_reference in mine
        assert judgement.verdict not in {_V.NOT_FOUND_YET, _V.CONFIRMED_ABSENT, _V.CONFIRMED_REJECTED}
    else:
        complete = any(lookup.complete and lookup.surface == "refunds.list" for lookup in found)
        if not complete:
            assert judgement.verdict is _V.STILL_AMBIGUOUS
        assert (judgement.refund, judgement.contradictory) == (None, False)


@pytest.mark.parametrize(
    ("age", "verdict"),
    [
        (timedelta(minutes=15) - timedelta(seconds=1), _V.NOT_FOUND_YET),
        (timedelta(minutes=15), _V.CONFIRMED_ABSENT),
        (timedelta(hours=22) - timedelta(seconds=1), _V.CONFIRMED_ABSENT),
        (timedelta(hours=22), _V.NOT_FOUND_YET),
    ],
)
@pytest.mark.parametrize("answer", [None, _A.UNKNOWN])
def test_absence_is_proven_between_the_horizon_and_the_end_of_the_safe_window(answer, age, verdict):
    known = OperationFacts("rfop_1", 4999, "USD", None, (AttemptFacts(NOW - age, answer, None),))
    assert look(known, [nothing_listed()]).verdict is verdict


def test_the_horizon_counts_from_the_newest_attempt_and_the_window_from_the_first():
    old, new = NOW - timedelta(hours=21), NOW - timedelta(minutes=14)
    known = OperationFacts(
        "rfop_1", 4999, "USD", None, (AttemptFacts(old, None, None), AttemptFacts(new, None, None))
    )
    assert look(known, [nothing_listed()]).verdict is _V.NOT_FOUND_YET
    assert look(known, [nothing_listed()], NOW + timedelta(minutes=1)).verdict is _V.CONFIRMED_ABSENT
    assert safe_until(known.attempts, STRIPE_V1) == old + SAFE


def test_an_attempt_that_reached_nobody_holds_nothing_up():
    attempts = (
        AttemptFacts(NOW - timedelta(hours=1), _A.UNKNOWN, None),
        AttemptFacts(NOW - timedelta(seconds=1), _A.NOT_EXECUTED, None),
    )
    known = OperationFacts("rfop_1", 4999, "USD", None, attempts)
    assert look(known, [nothing_listed()]).verdict is _V.CONFIRMED_ABSENT


@pytest.mark.failure("F007")
@pytest.mark.failure("F021")
def test_a_refusal_with_nothing_in_doubt_is_confirmed_by_the_list_at_once():
    known = OperationFacts("rfop_1", 4999, "USD", None, (AttemptFacts(NOW, _A.REFUSED, 400),))
    foreign = found(operation_id=None, processor_reference="re_dashboard")
    assert look(known, [foreign]).verdict is _V.CONFIRMED_REJECTED


@pytest.mark.failure("F007")
@given(
    captured=st.none() | st.integers(4999, 20_000),
    listed=st.lists(st.tuples(st.integers(1, 9_000), st.sampled_from(ProviderStatus)), max_size=3),
)
def test_a_refusal_because_money_is_back_is_believed_only_where_listed_refunds_account_for_it(
    captured, listed
):
    attempts = (
        AttemptFacts(NOW - timedelta(hours=2), None, None),
        AttemptFacts(NOW - timedelta(hours=1), _A.REFUSED, 400, went_back_before=True),
    )
    known = replace(OURS, attempts=attempts, captured_minor_units=captured)
    refunds = tuple(
        found(
            status,
            operation_id=None,
            processor_reference=f"re_{number}",
            amount_minor_units=amount,
            created_at=NOW - timedelta(days=9),
        ).refunds[0]
        for number, (amount, status) in enumerate(listed)
    )
    back = [amount for amount, status in listed if status not in NO_MONEY]
    explained = bool(back) and (captured is None or sum(back) + 4999 > captured)
    verdict = look(known, [replace(nothing_listed(), refunds=refunds)]).verdict
    assert verdict is (_V.CONFIRMED_REJECTED if explained else _V.NOT_FOUND_YET)


def nothing_listed():
    return LookupAnswer(
        surface="refunds.list", complete=True, refunds=(), http_status=200, error_code=None, detail="",
        attempts=1,
    )  # fmt: skip


@given(facts, checks)
def test_every_check_is_explained_line_by_line(known, found):
    """The contract, each attempt, each source, and then why."""
    contract, *rest = look(known, found).explanation
    assert contract == "by the contract of stripe, reviewed as 2026-11-29"
    attempts, sources = rest[: len(known.attempts)], rest[len(known.attempts) : -1]
    assert all(line.startswith(f"attempt {number} at ") for number, line in enumerate(attempts, start=1))
    assert [line.partition(":")[0] for line in sources] == [lookup.surface for lookup in found]


def found(status=ProviderStatus.SUCCEEDED, **changed):
    columns = {
        "processor_reference": "re_1", "operation_id": "rfop_1", "amount_minor_units": 4999, "currency": "USD",
        "provider_status": "", "payment_reference": "ch_1", "created_at": None, "failure_reason": None,
    } | changed  # fmt: skip
    return LookupAnswer(
        surface="refunds.list", complete=True, refunds=(RefundFact(status=status, **columns),),
        http_status=200, error_code=None, detail="", attempts=1,
    )  # fmt: skip


@pytest.mark.failure("F023")
@pytest.mark.parametrize(
    ("status", "verdict", "target"),
    [
        (ProviderStatus.SUCCEEDED, _V.CONFIRMED_COMPLETED, _O.COMPLETED),
        (ProviderStatus.PENDING, _V.CONFIRMED_PENDING, _O.PROVIDER_PENDING),
        (ProviderStatus.REQUIRES_ACTION, _V.CONFIRMED_PENDING, _O.PROVIDER_PENDING),
        (ProviderStatus.FAILED, _V.CONFIRMED_FAILED, _O.FAILED),
        (ProviderStatus.CANCELED, _V.CONFIRMED_FAILED, _O.FAILED),
        (ProviderStatus.UNRECOGNISED, _V.STILL_AMBIGUOUS, _O.MANUAL_REVIEW),
    ],
)
def test_each_status_of_the_provider_has_its_verdict(status, verdict, target):
    judgement = look(OURS, [found(status)])
    assert (judgement.verdict, judgement.contradictory) == (verdict, status is ProviderStatus.UNRECOGNISED)
    assert state_after_check(_O.STATUS_UNKNOWN, judgement) is target


@pytest.mark.parametrize("changed", [{"amount_minor_units": 4998}, {"currency": "EUR"}])
def test_our_id_on_another_amount_is_a_contradiction_that_waiting_does_not_solve(changed):
    judgement = look(OURS, [found(**changed)])
    assert (judgement.verdict, judgement.contradictory) == (_V.STILL_AMBIGUOUS, True)


def test_somebody_elses_equal_refund_is_not_ours():
    asked = OperationFacts("rfop_1", 4999, "USD", None, (AttemptFacts(NOW, None, None),))
    assert look(asked, [found(operation_id="rfop_2")]).verdict is _V.NOT_FOUND_YET
    assert look(asked, [found(operation_id=None)]).verdict is _V.NOT_FOUND_YET


# -- what the provider told without being asked


EVENT = EventFact(
    event_id="evt_1", event_type="refund.created", processor_reference="re_1", happened_at=NOW
)  # fmt: skip
SETTLED = SettlementFact(
    operation_id="rfop_1", processor_reference="re_1", amount_minor_units=4999, currency="USD", category="REFUND",
    status="SETTLED", booked_at=NOW, report="BALANCE_CHANGE",
)  # fmt: skip
TOLD = [{"events": [EVENT]}, {"settlements": [SETTLED]}]


@pytest.mark.parametrize("told", TOLD)
@given(known=facts, found=checks)
def test_what_was_told_only_takes_absence_away_and_completes_nothing(told, known, found):
    """An event or a settled row proves that the refund exists, and its state is only said by the object."""
    before, after = look(known, found), look(known, found, **told)
    assert after.verdict not in {_V.CONFIRMED_ABSENT, _V.CONFIRMED_REJECTED}
    if before.refund is None and not before.contradictory:
        assert after.verdict in {_V.NOT_FOUND_YET, _V.STILL_AMBIGUOUS}
        assert (after.told, after.refund) == (True, None)
    else:
        assert (after.verdict, after.refund) == (before.verdict, before.refund)


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize(
    ("state", "target"),
    [
        (_O.CONFIRMED_ABSENT, _O.PROVIDER_PENDING),
        (_O.CREATED, _O.MANUAL_REVIEW),
        (_O.REJECTED, _O.MANUAL_REVIEW),
        (_O.CANCELLED, _O.MANUAL_REVIEW),
        (_O.SUBMITTED, None),
        (_O.STATUS_UNKNOWN, None),
        (_O.PROVIDER_PENDING, None),
        (_O.MANUAL_REVIEW, None),
        (_O.COMPLETED, None),
        (_O.FAILED, None),
    ],
)
def test_what_was_told_contradicts_what_is_said_never_to_have_executed(told, state, target):
    known = OperationFacts("rfop_1", 4999, "USD", None, (AttemptFacts(NOW - timedelta(hours=1), None, None),))
    for lookup in (nothing_listed(), nothing_read()):
        assert state_after_check(state, look(known, [lookup], **told)) is target


def nothing_read():
    return LookupAnswer(
        surface="refunds.list", complete=False, refunds=(), http_status=503, error_code=None, detail="",
        attempts=3,
    )  # fmt: skip


@pytest.mark.parametrize("category", ["REFUND_FAILURE", "PARTIAL_CAPTURE_REVERSAL", "DISPUTE"])
def test_a_settled_row_that_is_no_customers_refund_tells_nothing(category):
    known = OperationFacts("rfop_1", 4999, "USD", None, (AttemptFacts(NOW - timedelta(hours=1), None, None),))
    row = replace(SETTLED, category=category)
    assert look(known, [nothing_listed()], settlements=[row]).verdict is _V.CONFIRMED_ABSENT


# -- the provider's record is old, or the call went elsewhere


def aged(**attempt):
    return OperationFacts(
        "rfop_1", 4999, "USD", None, (AttemptFacts(NOW - timedelta(hours=1), None, None, **attempt),), livemode=False
    )  # fmt: skip


@pytest.mark.parametrize(("seconds", "verdict"), [(-1, _V.CONFIRMED_ABSENT), (0, _V.NOT_FOUND_YET)])
def test_silence_is_not_weighed_by_a_contract_that_nobody_has_reviewed(seconds, verdict):
    now = STRIPE_V1.review_ends + timedelta(seconds=seconds)
    known = OperationFacts("rfop_1", 4999, "USD", None, (AttemptFacts(now - timedelta(hours=1), None, None),))
    judgement = look(known, [nothing_listed()], now)
    assert judgement.verdict is verdict
    if verdict is _V.NOT_FOUND_YET:
        assert "review ended on 2027-11-29" in judgement.explanation[-1]
    assert look(known, [found()], now).verdict is _V.CONFIRMED_COMPLETED  # what is shown needs no review


@pytest.mark.parametrize("elsewhere", [{"account": "acct_2"}, {"livemode": True}])
def test_a_call_to_another_account_or_mode_is_for_people_and_never_absent(elsewhere):
    judgement = look(aged(**elsewhere), [nothing_listed()])
    assert (judgement.verdict, judgement.hopeless) == (_V.STILL_AMBIGUOUS, True)
    assert state_after_check(_O.STATUS_UNKNOWN, judgement) is _O.MANUAL_REVIEW


@pytest.mark.parametrize("mode", [None, False])
def test_the_same_mode_or_one_that_was_not_kept_holds_nothing_up(mode):
    assert look(aged(livemode=mode), [nothing_listed()]).verdict is _V.CONFIRMED_ABSENT


@pytest.mark.parametrize("state", list(_O))
def test_what_is_hopeless_moves_only_what_is_undecided(state):
    target = state_after_check(state, Judgement(_V.STILL_AMBIGUOUS, None, (), hopeless=True))
    expected = {
        _O.SUBMITTED: _O.STATUS_UNKNOWN,
        _O.STATUS_UNKNOWN: _O.MANUAL_REVIEW,
        _O.PROVIDER_PENDING: _O.MANUAL_REVIEW,
        _O.CONFIRMED_ABSENT: _O.MANUAL_REVIEW,
    }
    assert target is expected.get(state)
