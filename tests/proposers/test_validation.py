import dataclasses
import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refunds.proposers.schema import Malformed, ParsedProposal, ProposalReason, ProposedAction
from refunds.proposers.validation import (
    CheckOutcome,
    CheckRule,
    CheckStatus,
    ValidationFacts,
    Verdict,
    needs_person,
    overall,
    run_checks,
)
from tests.proposers.samples import MESSAGE

SEVEN = [
    "SCHEMA",
    "ACTION_ALLOWED",
    "CUSTOMER_AUTHORISED",
    "POLICY_RULES",
    "AMOUNT_MATCHES_LEDGER",
    "APPROVAL_THRESHOLD",
    "GUARDRAILS",
]
HONEST = ParsedProposal(
    recommended_action=ProposedAction.ISSUE_REFUND,
    reason_code=ProposalReason.VERIFIED_DUPLICATE_CHARGE,
    requires_human_review=False,
    customer_message=MESSAGE,
)
ASKS_PERSON = dataclasses.replace(HONEST, recommended_action=ProposedAction.ASK_PERSON)
MALFORMED = Malformed(repairable=True, reason="NOT_JSON")
NO_COMMAND = {"command_amount_minor_units": None, "command_currency": None}


def facts(**changes):
    honest = {
        "proposal": HONEST,
        "allowed_actions": (ProposedAction.ISSUE_REFUND, ProposedAction.ASK_PERSON),
        "customer_id": "cus_1",
        "order_customer_id": "cus_1",
        "merchant_id": "mer_1",
        "order_merchant_id": "mer_1",
        "finding": "VERIFIED_DUPLICATE_CHARGE",
        "policy_allows_refund": True,
        "age_days": 3,
        "max_age_days": 90,
        "command_amount_minor_units": 4999,
        "command_currency": "USD",
        "captured_minor_units": 4999,
        "ledger_currency": "USD",
        "refundable_minor_units": 4999,
        "auto_limit_minor_units": 10_000,
        "person_required": False,
    }
    return ValidationFacts(**(honest | changes))


def summary(results):
    return [(str(result.result), str(result.outcome)) for result in results]


def failing(results):
    return [str(result.rule) for result in results if result.result is CheckStatus.FAIL]


def test_an_honest_proposal_passes_all_seven_and_needs_nobody():
    results = run_checks(facts())

    assert [str(result.rule) for result in results] == SEVEN
    assert summary(results) == [("PASS", "CONTINUE")] * 7
    assert overall(results) is Verdict.VALIDATED
    assert not needs_person(results)
    assert all(result.rule_version for result in results)


def test_the_inputs_are_the_evidence():
    inputs = {str(result.rule): result.inputs for result in run_checks(facts())}

    assert inputs == {
        "SCHEMA": {"model_requires_human_review": False},
        "ACTION_ALLOWED": {
            "allowed_actions": "ask_person,issue_refund",
            "recommended_action": "issue_refund",
        },
        "CUSTOMER_AUTHORISED": {
            "customer_id": "cus_1",
            "order_customer_id": "cus_1",
            "merchant_id": "mer_1",
            "order_merchant_id": "mer_1",
        },
        "POLICY_RULES": {
            "finding": "VERIFIED_DUPLICATE_CHARGE",
            "reason_code": "verified_duplicate_charge",
            "policy_allows_refund": True,
            "age_days": 3,
            "max_age_days": 90,
        },
        "AMOUNT_MATCHES_LEDGER": {
            "command_amount_minor_units": 4999,
            "command_currency": "USD",
            "captured_minor_units": 4999,
            "ledger_currency": "USD",
            "refundable_minor_units": 4999,
        },
        "APPROVAL_THRESHOLD": {
            "command_amount_minor_units": 4999,
            "auto_limit_minor_units": 10_000,
            "person_required": False,
        },
        "GUARDRAILS": {
            "unsafe_codes": "",
            "message_length": len(MESSAGE),
            "message_sha256": hashlib.sha256(MESSAGE.encode()).hexdigest(),
        },
    }


REJECTIONS = [
    ("malformed", {"proposal": MALFORMED}, ["SCHEMA"]),
    (
        "message that no schema allows",
        {"proposal": dataclasses.replace(HONEST, customer_message="")},
        ["SCHEMA"],
    ),
    ("action not allowed", {"allowed_actions": (ProposedAction.ASK_PERSON,)}, ["ACTION_ALLOWED"]),
    ("nothing allowed", {"allowed_actions": ()}, ["ACTION_ALLOWED"]),
    ("foreign order", {"order_customer_id": "cus_2"}, ["CUSTOMER_AUTHORISED"]),
    ("foreign merchant", {"order_merchant_id": "mer_2"}, ["CUSTOMER_AUTHORISED"]),
    ("nobody", {"customer_id": "", "order_customer_id": ""}, ["CUSTOMER_AUTHORISED"]),
    ("no tenant", {"merchant_id": "", "order_merchant_id": ""}, ["CUSTOMER_AUTHORISED"]),
    ("no duplicate", {"finding": "NO_DUPLICATE_FOUND"}, ["POLICY_RULES"]),
    ("unclear", {"finding": "REQUIRES_INVESTIGATION"}, ["POLICY_RULES"]),
    ("unknown finding", {"finding": "SOMETHING_NEW"}, ["POLICY_RULES"]),
    ("policy forbids", {"policy_allows_refund": False}, ["POLICY_RULES"]),
    ("too old", {"age_days": 91}, ["POLICY_RULES"]),
    ("from the future", {"age_days": -1}, ["POLICY_RULES"]),
    ("age unknown", {"age_days": None}, ["POLICY_RULES"]),
    ("no age limit known", {"max_age_days": None}, ["POLICY_RULES"]),
    (
        "reason contradicts the finding",
        {"proposal": dataclasses.replace(HONEST, reason_code=ProposalReason.NO_DUPLICATE_FOUND)},
        ["POLICY_RULES"],
    ),
    ("one unit more", {"command_amount_minor_units": 5000}, ["AMOUNT_MATCHES_LEDGER"]),
    ("one unit less", {"command_amount_minor_units": 4998}, ["AMOUNT_MATCHES_LEDGER"]),
    ("other currency", {"command_currency": "EUR"}, ["AMOUNT_MATCHES_LEDGER"]),
    ("currency in lower case", {"command_currency": "usd"}, ["AMOUNT_MATCHES_LEDGER"]),
    ("no currency", {"command_currency": "", "ledger_currency": ""}, ["AMOUNT_MATCHES_LEDGER"]),
    ("partly refunded", {"refundable_minor_units": 4998}, ["AMOUNT_MATCHES_LEDGER"]),
    (
        "nothing",
        {"command_amount_minor_units": 0, "captured_minor_units": 0},
        ["AMOUNT_MATCHES_LEDGER"],
    ),
    (
        "less than nothing",
        {"command_amount_minor_units": -1, "captured_minor_units": -1},
        ["AMOUNT_MATCHES_LEDGER"],
    ),
    (
        "a boolean amount",
        {"command_amount_minor_units": True, "captured_minor_units": 1},
        ["AMOUNT_MATCHES_LEDGER"],
    ),
    ("refund without command", NO_COMMAND, ["AMOUNT_MATCHES_LEDGER"]),
    (
        "unsafe draft",
        {"proposal": dataclasses.replace(HONEST, customer_message="I refunded $49.99 to you.")},
        ["GUARDRAILS"],
    ),
]


@pytest.mark.parametrize(
    ("changes", "rules"), [row[1:] for row in REJECTIONS], ids=[row[0] for row in REJECTIONS]
)
def test_one_wrong_fact_fails_its_own_check_and_rejects(changes, rules):
    results = run_checks(facts(**changes))

    assert failing(results) == rules
    assert overall(results) is Verdict.REJECTED
    assert [result.outcome for result in results if result.result is CheckStatus.FAIL] == [
        CheckOutcome.REJECT
    ]


@pytest.mark.parametrize("age", [0, 90])
def test_the_age_limit_includes_its_ends(age):
    assert overall(run_checks(facts(age_days=age))) is Verdict.VALIDATED


@pytest.mark.parametrize(
    "changes",
    [{"auto_limit_minor_units": 4998}, {"auto_limit_minor_units": None}, {"person_required": True}],
)
def test_being_above_the_threshold_is_no_rejection_but_needs_a_person(changes):
    results = run_checks(facts(**changes))

    assert overall(results) is Verdict.VALIDATED
    assert needs_person(results)
    assert summary(results)[5] == ("PASS", "NEEDS_PERSON")
    assert [pair for index, pair in enumerate(summary(results)) if index != 5] == [("PASS", "CONTINUE")] * 6


def test_the_threshold_includes_the_limit_itself():
    assert not needs_person(run_checks(facts(auto_limit_minor_units=4999)))


def test_asking_a_person_is_valid_and_needs_one():
    results = run_checks(facts(proposal=ASKS_PERSON))

    assert overall(results) is Verdict.VALIDATED
    assert needs_person(results)
    assert summary(results)[1] == ("PASS", "NEEDS_PERSON")


def test_asking_a_person_without_a_command_leaves_the_commands_checks_unrun():
    results = run_checks(facts(proposal=ASKS_PERSON, finding="REQUIRES_INVESTIGATION", **NO_COMMAND))

    assert overall(results) is Verdict.VALIDATED
    assert needs_person(results)
    assert summary(results)[3:6] == [
        ("NOT_RUN", "CONTINUE"),
        ("NOT_RUN", "CONTINUE"),
        ("PASS", "NEEDS_PERSON"),
    ]


@pytest.mark.parametrize(
    "changes",
    [{"policy_allows_refund": False}, {"command_amount_minor_units": 5000}, {"order_customer_id": "x"}],
)
def test_asking_a_person_rescues_no_wrong_command(changes):
    assert overall(run_checks(facts(proposal=ASKS_PERSON, **changes))) is Verdict.REJECTED


def test_a_malformed_proposal_still_leaves_seven_results():
    results = run_checks(facts(proposal=MALFORMED))

    assert [str(result.rule) for result in results] == SEVEN
    assert summary(results) == [
        ("FAIL", "REJECT"),
        ("NOT_RUN", "CONTINUE"),
        ("PASS", "CONTINUE"),
        ("PASS", "CONTINUE"),
        ("PASS", "CONTINUE"),
        ("PASS", "CONTINUE"),
        ("NOT_RUN", "CONTINUE"),
    ]
    assert results[0].inputs == {"reason": "NOT_JSON", "repairable": True}


changes = st.fixed_dictionaries(
    {},
    optional={
        "proposal": st.builds(
            ParsedProposal,
            recommended_action=st.sampled_from(ProposedAction),
            reason_code=st.sampled_from(ProposalReason),
            requires_human_review=st.booleans(),
            customer_message=st.sampled_from([MESSAGE, "I refunded it."]),
        ),
        "allowed_actions": st.sampled_from([(), tuple(ProposedAction), (ProposedAction.ASK_PERSON,)]),
        "customer_id": st.sampled_from(["", "cus_1", "cus_2"]),
        "order_merchant_id": st.sampled_from(["", "mer_1", "mer_2"]),
        "finding": st.sampled_from(["VERIFIED_DUPLICATE_CHARGE", "NO_DUPLICATE_FOUND"]),
        "policy_allows_refund": st.booleans(),
        "age_days": st.none() | st.integers(-2, 100),
        "command_amount_minor_units": st.none() | st.integers(-1, 10_001),
        "command_currency": st.none() | st.sampled_from(["USD", "EUR", ""]),
        "refundable_minor_units": st.integers(-1, 5001),
        "auto_limit_minor_units": st.none() | st.integers(0, 10_001),
        "person_required": st.booleans(),
    },
)


@given(changes)
def test_the_models_own_wish_for_review_changes_no_result(changed):
    def judged(wish):
        asked = facts(**changed)
        proposal = dataclasses.replace(asked.proposal, requires_human_review=wish)
        results = run_checks(dataclasses.replace(asked, proposal=proposal))
        return summary(results), overall(results), needs_person(results)

    assert judged(True) == judged(False)


@given(changes)
def test_no_answer_of_a_model_validates_what_another_answer_could_not(changed):
    """Whatever a model says, an automatic refund needs the same facts: the best answer shows them."""
    asked = facts(**changed)
    best = run_checks(dataclasses.replace(asked, proposal=HONEST))
    results = run_checks(asked)

    if overall(results) is Verdict.VALIDATED and not needs_person(results):
        assert overall(best) is Verdict.VALIDATED
        assert not needs_person(best)
    if asked.has_command:
        for index in (2, 3, 4, 5):
            assert not (
                best[index].result is CheckStatus.FAIL and results[index].result is not CheckStatus.FAIL
            )


@given(changes)
def test_there_are_always_seven_results_in_order_and_inputs_are_scalars(changed):
    results = run_checks(facts(**changed))

    assert [str(result.rule) for result in results] == SEVEN
    for result in results:
        assert all(value is None or isinstance(value, str | int | bool) for value in result.inputs.values())
        assert (result.outcome is CheckOutcome.REJECT) == (result.result is CheckStatus.FAIL)


def test_the_verdict_is_given_over_all_seven_results_in_order_only():
    results = run_checks(facts())
    for wrong in ((), results[:6], results[::-1], (*results, results[0])):
        for judge in (overall, needs_person):
            with pytest.raises(ValueError):
                judge(wrong)


def test_every_rule_has_exactly_one_name():
    assert [str(rule) for rule in CheckRule] == SEVEN
    assert all(first is not second for first, second in itertools.combinations(CheckRule, 2))


@pytest.mark.parametrize(
    ("partial_allowed", "amount", "refundable", "verdict"),
    [
        (True, 1, 4999, Verdict.VALIDATED),
        (True, 4999, 4999, Verdict.VALIDATED),
        (True, 3000, 2999, Verdict.REJECTED),
        (True, 5000, 9999, Verdict.REJECTED),
        (True, 0, 4999, Verdict.REJECTED),
        (False, 4998, 4999, Verdict.REJECTED),
    ],
)
def test_a_part_of_a_charge_is_refunded_for_staff_alone(partial_allowed, amount, refundable, verdict):
    form = dataclasses.replace(HONEST, reason_code=ProposalReason.OTHER)
    asked = facts(
        proposal=form,
        finding="STAFF_REQUESTED",
        partial_allowed=partial_allowed,
        command_amount_minor_units=amount,
        refundable_minor_units=refundable,
    )
    assert overall(run_checks(asked)) is verdict
