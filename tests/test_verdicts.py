import pytest
from hypothesis import given
from hypothesis import strategies as st

from refunds.gateways.port import AnswerClass, LookupAnswer, ProviderStatus, RefundFact
from refunds.states import OPERATION_TABLE, CheckVerdict, OperationState
from refunds.verdicts import OperationFacts, judge, state_after_answer, state_after_check

_A, _O, _V = AnswerClass, OperationState, CheckVerdict
OURS = OperationFacts(
    operation_id="rfop_1", amount_minor_units=4999, currency="USD", processor_reference=None
)
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


@given(states, st.sampled_from(sorted(POSITIVE)), earlier_answers, earlier_answers)
def test_what_an_object_of_ours_proves_does_not_depend_on_other_attempts(state, answer, some, others):
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


@given(states, st.sampled_from(_V))
def test_a_verdict_moves_along_a_legal_jump_or_not_at_all(state, verdict):
    target = state_after_check(state, verdict)
    assert target is None or OPERATION_TABLE.allows(state, target)


@given(states)
def test_only_a_refund_that_was_found_moves_an_operation(state):
    for verdict in set(_V) - {_V.CONFIRMED_COMPLETED, _V.CONFIRMED_PENDING, _V.CONFIRMED_FAILED}:
        assert state_after_check(state, verdict) is None


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
facts = st.builds(
    OperationFacts,
    operation_id=st.just("rfop_1"),
    amount_minor_units=st.just(4999),
    currency=st.just("USD"),
    processor_reference=st.sampled_from([None, "re_1"]),
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


@given(facts, checks)
def test_a_look_up_never_proves_absence_or_a_refusal(known, found):
    verdict = judge(known, found).verdict
    assert verdict not in {_V.CONFIRMED_ABSENT, _V.CONFIRMED_REJECTED}
    if verdict in {_V.NOT_FOUND_YET, _V.STILL_AMBIGUOUS}:
        assert all(state_after_check(state, verdict) is None for state in _O)


@given(facts, checks)
def test_the_verdict_follows_from_the_refunds_that_are_ours(known, found):
    judgement, mine = judge(known, found), ours(known, found)
    if len(mine) > 1:
        assert (judgement.verdict, judgement.contradictory) == (_V.STILL_AMBIGUOUS, True)
    elif mine:
        assert judgement.refund.processor_reference in mine
        assert judgement.verdict is not _V.NOT_FOUND_YET
    else:
        complete = any(lookup.complete for lookup in found)
        assert judgement.verdict is (_V.NOT_FOUND_YET if complete else _V.STILL_AMBIGUOUS)
        assert (judgement.refund, judgement.contradictory) == (None, False)


@given(facts, checks)
def test_every_check_is_explained_line_by_line(known, found):
    explanation = judge(known, found).explanation
    assert len(explanation) == len(found) + 1
    assert all(line.startswith(lookup.surface) for line, lookup in zip(explanation, found, strict=False))


def found(status=ProviderStatus.SUCCEEDED, **changed):
    columns = {
        "processor_reference": "re_1", "operation_id": "rfop_1", "amount_minor_units": 4999, "currency": "USD",
        "provider_status": "", "payment_reference": "ch_1", "created_at": None, "failure_reason": None,
    } | changed  # fmt: skip
    return LookupAnswer(
        surface="refunds.list", complete=True, refunds=(RefundFact(status=status, **columns),),
        http_status=200, error_code=None, detail="", attempts=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "verdict", "target"),
    [
        (ProviderStatus.SUCCEEDED, _V.CONFIRMED_COMPLETED, _O.COMPLETED),
        (ProviderStatus.PENDING, _V.CONFIRMED_PENDING, _O.PROVIDER_PENDING),
        (ProviderStatus.REQUIRES_ACTION, _V.CONFIRMED_PENDING, _O.PROVIDER_PENDING),
        (ProviderStatus.FAILED, _V.CONFIRMED_FAILED, _O.FAILED),
        (ProviderStatus.CANCELED, _V.CONFIRMED_FAILED, _O.FAILED),
        (ProviderStatus.UNRECOGNISED, _V.STILL_AMBIGUOUS, None),
    ],
)
def test_each_status_of_the_provider_has_its_verdict(status, verdict, target):
    judgement = judge(OURS, [found(status)])
    assert (judgement.verdict, judgement.contradictory) == (verdict, False)
    assert state_after_check(_O.STATUS_UNKNOWN, verdict) is target


@pytest.mark.parametrize("changed", [{"amount_minor_units": 4998}, {"currency": "EUR"}])
def test_our_id_on_another_amount_is_a_contradiction_that_waiting_does_not_solve(changed):
    judgement = judge(OURS, [found(**changed)])
    assert (judgement.verdict, judgement.contradictory) == (_V.STILL_AMBIGUOUS, True)


def test_somebody_elses_equal_refund_is_not_ours():
    assert judge(OURS, [found(operation_id="rfop_2")]).verdict is _V.NOT_FOUND_YET
    assert judge(OURS, [found(operation_id=None)]).verdict is _V.NOT_FOUND_YET
