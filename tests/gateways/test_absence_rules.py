"""When a refund is called absent, restated for each provider by hand and held against the verdict on random evidence."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.contracts.adyen_v72 import ADYEN_V72
from refunds.gateways.contracts.braintree import BRAINTREE
from refunds.gateways.contracts.paypal_v2 import PAYPAL_V2
from refunds.gateways.port import LIST, AnswerClass, LookupAnswer, ProviderStatus
from refunds.states import CheckVerdict
from refunds.verdicts import AttemptFacts, OperationFacts, judge
from tests.gateways.golden.cases import START, d, event, h, m, ours, read, settled, theirs

CONTRACTS = {contract.provider: contract for contract in (STRIPE_V1, ADYEN_V72, PAYPAL_V2, BRAINTREE)}
NOW = START + d(60)
_A = AnswerClass

ages = st.sampled_from([m(1), m(14), m(15), h(1), h(21), h(22), d(28), d(29), d(43), d(44), d(50)])
any_attempt = st.builds(
    AttemptFacts,
    started_at=ages.map(lambda age: NOW - age),
    answer_class=st.none() | st.sampled_from([_A.UNKNOWN, _A.UNKNOWN, _A.REFUSED, _A.NOT_EXECUTED]),
    http_status=st.sampled_from([None, None, 400, 409, 422, 503, 500]),
    error_type=st.sampled_from(["", "", "invalid_request_error", "idempotency_error"]),
    error_code=st.sampled_from(["", "915234", "915232", "DUPLICATE_INVOICE_ID"]),
    account=st.sampled_from(["", "", "", "", "acct_2"]),
    livemode=st.sampled_from([False, False, False, None, True]),
)
others = st.builds(theirs, made=st.sampled_from([None, d(1), d(60)]))
rarely = st.integers(0, 9).map(lambda number: number == 9)
LOST = AttemptFacts(NOW - h(21), None, None, livemode=False)
BURNT = AttemptFacts(NOW - h(20), _A.REFUSED, 422, error_code="915234", livemode=False)
LOST_AGAIN = AttemptFacts(NOW - h(2), _A.UNKNOWN, 503, livemode=False)
PROVING = {"stripe": read(LIST), "paypal": read("captures.get", untouched=True), "braintree": read(LIST)}


def attempts(contract):
    """Attempts after which nothing may be there, and at most one more that may change that."""
    quiet = [LOST, BURNT, LOST_AGAIN] if contract is BRAINTREE else [LOST, LOST_AGAIN]
    nearly = st.lists(any_attempt, max_size=1).map(lambda more: [*quiet, *more])
    return (nearly | nearly | st.lists(any_attempt, min_size=1, max_size=3)).map(
        lambda made: tuple(sorted(made, key=lambda attempt: attempt.started_at))
    )


def lookups(contract):
    """A read that proves absence where there is one, and perhaps others."""
    other = st.builds(
        LookupAnswer,
        surface=st.sampled_from([surface.name for surface in contract.lookups] + [LIST]),
        complete=st.sampled_from([True, True, False]),
        refunds=st.lists(others | others | st.just(ours()), max_size=1).map(tuple),
        http_status=st.just(200),
        error_code=st.none(),
        detail=st.just(""),
        attempts=st.just(1),
        payment_untouched=st.sampled_from([None, True, True, False]),
    )
    proving = [PROVING[contract.provider]] if contract.provider in PROVING else []
    return st.lists(other, max_size=1).map(lambda more: [*proving, *more]) | st.lists(other, max_size=2)


def told(data):
    """What was told without being asked, mostly nothing: events, and settled rows."""
    kinds = [event("refund.created"), event("REFUND.true")]
    lines = [settled(), settled("PARTIAL_CAPTURE_REVERSAL")]
    return tuple((data.draw(st.sampled_from(some)),) if data.draw(rarely) else () for some in (kinds, lines))


def doubtful(made):
    return [attempt for attempt in made if attempt.answer_class not in {_A.NOT_EXECUTED, _A.REFUSED}]


def nothing_speaks_for_it(contract, made, found, events, rows):
    shows = {"search"} if contract is STRIPE_V1 else {"captures.get"} if contract is PAYPAL_V2 else set()
    seen = any(refund.operation_id for read in found if read.surface not in shows for refund in read.refunds)
    collides = contract is PAYPAL_V2 and any(a.error_code == "DUPLICATE_INVOICE_ID" for a in made)
    return not (seen or collides or events or any(row.category == "REFUND" for row in rows))


def key_of_another_request(contract, made):
    if contract is STRIPE_V1:
        answer = {"http_status": 400, "error_type": "idempotency_error"}
    elif contract is BRAINTREE:
        answer = {"http_status": 422, "error_code": "915232"}
    else:
        return False
    return any(
        attempt.answer_class is _A.UNKNOWN
        and all(getattr(attempt, name) == value for name, value in answer.items())
        for attempt in made
    )


def absent_by_the_pages(contract, made, found):
    """Say by hand what this provider's pages allow; the common conditions are asked by the caller."""
    whole = [read for read in found if read.complete]
    foreign = [refund for read in found for refund in read.refunds]
    new = any(r.created_at is None or r.created_at >= made[0].started_at for r in foreign)
    if contract is STRIPE_V1:
        return any(read.surface == LIST for read in whole)
    if contract is PAYPAL_V2:
        captures = [read for read in whole if read.surface == "captures.get"]
        return any(read.payment_untouched for read in captures) and not new
    if contract is BRAINTREE:
        burnt = any(attempt.error_code == "915234" for attempt in made)
        return burnt and not new and any(read.surface == LIST for read in whole)
    return False


SAFE = {"stripe": h(22), "paypal": d(44), "braintree": d(29), "adyen": d(6)}


@pytest.mark.failure("F011")
@pytest.mark.parametrize("provider", CONTRACTS)
@given(data=st.data())
def test_a_refund_is_absent_exactly_when_the_providers_pages_allow_it(provider, data):
    contract = CONTRACTS[provider]
    made, found, (events, rows) = data.draw(attempts(contract)), data.draw(lookups(contract)), told(data)
    facts = OperationFacts("rfop_1", 4999, "USD", None, made, livemode=False)
    judgement = judge(facts, found, contract=contract, now=NOW, events=events, settlements=rows)
    expected = (
        absent_by_the_pages(contract, made, found)
        and nothing_speaks_for_it(contract, made, found, events, rows)
        and not key_of_another_request(contract, made)
        and all(attempt.account == "" and attempt.livemode is not True for attempt in made)
        and not any(attempt.http_status == 500 for attempt in doubtful(made))
        and all(attempt.started_at + m(15) <= NOW for attempt in doubtful(made))
        and made[-1].answer_class is not _A.REFUSED
        and made[0].started_at + SAFE[provider] > NOW
    )
    assert (judgement.verdict is CheckVerdict.CONFIRMED_ABSENT) is expected, judgement.explanation


@pytest.mark.parametrize("provider", PROVING)
def test_the_quiet_case_is_absent_and_so_the_rule_is_met_often(provider):
    contract = CONTRACTS[provider]
    made = (LOST, BURNT, LOST_AGAIN) if contract is BRAINTREE else (LOST, LOST_AGAIN)
    facts = OperationFacts("rfop_1", 4999, "USD", None, made, livemode=False)
    judgement = judge(facts, [PROVING[provider]], contract=contract, now=NOW)
    assert judgement.verdict is CheckVerdict.CONFIRMED_ABSENT


@pytest.mark.parametrize("provider", CONTRACTS)
@given(data=st.data())
def test_only_an_object_that_succeeded_completes_a_refund(provider, data):
    contract = CONTRACTS[provider]
    made, found, (events, rows) = data.draw(attempts(contract)), data.draw(lookups(contract)), told(data)
    facts = OperationFacts("rfop_1", 4999, "USD", None, made, livemode=False)
    judgement = judge(facts, found, contract=contract, now=NOW, events=events, settlements=rows)
    if judgement.verdict is CheckVerdict.CONFIRMED_COMPLETED:
        assert judgement.refund is not None
        assert (judgement.refund.operation_id, judgement.refund.status) == (
            "rfop_1",
            ProviderStatus.SUCCEEDED,
        )
    assert judgement.explanation
    assert not (judgement.contradictory and judgement.hopeless)
    assert timedelta(0) < timedelta(seconds=contract.in_flight_horizon_seconds)
