"""The evaluation set, how its rows are judged, and that chance does not pass."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from config.demo.model_simulator.model import answer_to
from config.demo.model_simulator.readings import reading_of
from config.demo.model_simulator.scripts import TRICKS, obeyed, obeyed_reading, trick
from refunds.proposers.deterministic import DeterministicProposer
from refunds.proposers.evaluation.declared import DeclaredFactsError, read_declared_facts
from refunds.proposers.evaluation.proposal_job import ProposalJob
from refunds.proposers.evaluation.reading_job import ReadingJob
from refunds.proposers.evaluation.rows import NEWEST, Area, EvaluationSetError, read_set
from refunds.proposers.evaluation.running import EndpointUnreachableError, run_evaluation
from refunds.proposers.port import Declined, DeclinedKind, Proposed, Unavailable, UnavailableKind
from refunds.proposers.prompts import proposal_question, reading_question

SET = read_set()
JOBS = {"proposal": ProposalJob, "reading": ReadingJob}
PROPOSALS = replace(SET, rows=tuple(row for row in SET.rows if row.job == "proposal"))


class Speaking:
    """A model that says what ``speak`` makes of the messages; ``number`` counts the questions."""

    def __init__(self, speak, **more):
        self.speak, self.more, self.number = speak, more, 0

    def propose(self, context, *, deadline_seconds, repair_of=None):
        assert (deadline_seconds, repair_of) == (5, None)
        return self.answer(proposal_question(context))

    def read_message(self, context, *, deadline_seconds, repair_of=None):
        assert (deadline_seconds, repair_of) == (5, None)
        return self.answer(reading_question(context))

    def answer(self, question):
        self.number += 1
        said = self.speak(question.messages, self.number)
        if not isinstance(said, str):
            return said
        sound = {
            "model_snapshot": "m-1",
            "prompt_version": "p",
            "latency_ms": 10,
            "requests": 1,
            "parameters": {"response_form": "json_schema"},
        }
        return Proposed(raw_text=said, **(sound | self.more))


def is_proposal(messages):
    return "case" in json.loads(messages[1]["content"])


def honest(messages, _number):
    return (answer_to if is_proposal(messages) else reading_of)(messages)


def obedient(messages, _number):
    return (obeyed if is_proposal(messages) else obeyed_reading)(messages)


def evaluate(model, *, attempts=1, rows=SET, jobs=tuple(JOBS)):
    return run_evaluation(
        rows,
        {name: JOBS[name](model) for name in jobs},
        attempts=attempts,
        deadline_seconds=5,
        progress=lambda _: None,
    )


def unavailable(kind):
    return Unavailable(kind=kind, detail="x", requests=1, latency_ms=10)


def declined(kind):
    return Declined(
        kind=kind,
        detail="x",
        model_snapshot="m-1",
        prompt_version="p",
        latency_ms=10,
        requests=1,
        parameters={"response_form": "json_schema"},
    )


def test_the_set_is_dated_large_enough_and_covers_the_areas():
    counts = Counter(row.area for row in SET.rows)
    assert SET.version == NEWEST.stem == "2026-11"
    assert sum(counts.values()) >= 40
    assert set(counts) == set(Area)
    assert min(counts.values()) >= 3
    assert len(SET.sha256) == 64


def test_who_follows_the_instructions_passes():
    evaluation = evaluate(Speaking(honest), attempts=2)
    assert evaluation.passed, evaluation.faults
    assert set(evaluation.areas) == set(Area)
    assert all(rows == held for rows, held in evaluation.areas.values())


def test_the_rules_propose_as_a_model_should():
    evaluation = evaluate(DeterministicProposer(), rows=PROPOSALS, jobs=["proposal"])
    assert evaluation.passed, evaluation.faults


def test_a_set_without_rows_of_a_job_admits_nobody_to_it():
    model = Speaking(honest)
    with pytest.raises(EvaluationSetError, match="reading"):
        evaluate(model, rows=PROPOSALS)
    assert model.number == 0


@pytest.mark.parametrize("name", TRICKS)
def test_a_model_that_plays_a_trick_does_not_pass(name):
    evaluation = evaluate(Speaking(lambda *_: trick(name)))
    assert not evaluation.passed
    assert all(held < rows for rows, held in evaluation.areas.values())


def test_a_model_that_obeys_the_customer_does_not_pass():
    evaluation = evaluate(Speaking(obedient))
    rows, held = evaluation.areas[Area.INJECTION]
    assert held == 0
    assert rows > 8


@pytest.mark.parametrize("kind", DeclinedKind)
def test_a_model_that_declines_does_not_pass(kind):
    evaluation = evaluate(Speaking(lambda *_: declined(kind)))
    assert {fault.code for fault in evaluation.faults} == {str(kind)}
    assert all(held == 0 for _, held in evaluation.areas.values())


def test_a_tool_call_in_one_row_is_enough():
    def calls_once(messages, number):
        return declined(DeclinedKind.TOOL_CALL) if number == 40 else honest(messages, number)

    (fault,) = evaluate(Speaking(calls_once)).faults
    assert fault.code == "TOOL_CALL"


def test_one_bad_attempt_of_three_is_enough():
    """pass^k: a row holds when every attempt did, and a model passes when every row did."""
    last_of_all = 3 * len(SET.rows)

    def once(messages, number):
        return "no JSON" if number == last_of_all else honest(messages, number)

    evaluation = evaluate(Speaking(once), attempts=3)
    (fault,) = evaluation.faults
    assert (fault.row, fault.attempt, fault.code) == ("RC2", 3, "NOT_JSON")
    assert evaluation.areas[Area.CONTEXT] == (5, 4)
    assert not evaluation.passed


@pytest.mark.parametrize(
    "kind",
    [
        UnavailableKind.TIMEOUT,
        UnavailableKind.RATE_LIMITED,
        UnavailableKind.SERVER_ERROR,
        UnavailableKind.UNREADABLE_ANSWER,
        UnavailableKind.STREAMED_ANSWER,
    ],
)
def test_no_answer_is_a_row_that_does_not_hold(kind):
    def fails_once(messages, number):
        return unavailable(kind) if number == 5 else honest(messages, number)

    (fault,) = evaluate(Speaking(fails_once)).faults
    assert fault.code == str(kind)


@pytest.mark.parametrize("kind", [UnavailableKind.CONNECTION_FAILED, UnavailableKind.REQUEST_REFUSED])
@pytest.mark.parametrize("when", [1, 30])
def test_nothing_is_learned_from_an_endpoint_that_is_not_there(kind, when):
    def gone(messages, number):
        return unavailable(kind) if number == when else honest(messages, number)

    with pytest.raises(EndpointUnreachableError):
        evaluate(Speaking(gone))


def test_slow_answers_do_not_pass_however_good():
    evaluation = evaluate(Speaking(honest, latency_ms=SET.latency_p95_ms + 1))
    (fault,) = evaluation.faults
    assert fault.row == "latency"
    assert evaluation.latency_p95_ms == SET.latency_p95_ms + 1


def test_a_snapshot_that_changes_meanwhile_does_not_pass():
    class Changing(Speaking):
        def answer(self, question):
            self.more = {"model_snapshot": "m-1" if self.number < 30 else "m-2"}
            return super().answer(question)

    (fault,) = evaluate(Changing(honest)).faults
    assert (fault.row, fault.code) == ("snapshot", "CHANGED_MEANWHILE")


def test_the_largest_context_is_as_large_as_a_request_can_be():
    asked = []

    def remember(messages, number):
        asked.append(len(json.loads(messages[1]["content"])["customer_text"] or ""))
        return honest(messages, number)

    evaluate(Speaking(remember))
    assert max(asked) > 990


def row(**changes):
    sound = {
        "id": "X1",
        "area": "proposal",
        "finding": "NO_DUPLICATE_FOUND",
        "reason_code": "SINGLE_CHARGE",
        "problem": "OTHER",
        "customer_text": None,
        "actions": ["ask_person"],
    }
    return {name: value for name, value in (sound | changes).items() if value != "absent"}


def written(tmp_path, *rows, **more):
    file = tmp_path / "rows.json"
    file.write_text(json.dumps({"version": "v", "latency_p95_ms": 100, "rows": list(rows)} | more))
    return file


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": ["ask_person"]},
        {"actions": ["issue_money"]},
        {"actions": []},
        {"actions": "absent"},
        {"finding": "free text"},
        {"finding": "absent"},
        {"reading": {}},
        {"customer_text": "Twice.", "ending": "No ending of what is not filled."},
        {"job": "reading"},
        {"job": "weather"},
    ],
)
def test_a_row_that_could_not_be_judged_is_refused_before_anything_is_asked(tmp_path, wrong):
    proposer = Speaking(honest)
    with pytest.raises(EvaluationSetError):
        evaluate(proposer, rows=read_set(written(tmp_path, row(), row(id="X2", **wrong))), jobs=["proposal"])
    assert proposer.number == 0


@pytest.mark.parametrize("rows", [[], [row(), row()], [row(area="moods")], [{}], ["text"]])
def test_a_set_that_is_none_is_refused(tmp_path, rows):
    with pytest.raises(EvaluationSetError):
        read_set(written(tmp_path, *rows))


FACTS = {
    "declared_by": "the operator",
    "data_residency": "EU",
    "retention_days": 30,
    "trains_on_inputs": False,
}


@pytest.mark.parametrize(
    "changes",
    [
        {"declared_by": ""},
        {"data_residency": "x" * 201},
        {"data_residency": "a\nb"},
        {"retention_days": -1},
        {"retention_days": True},
        {"retention_days": "30"},
        {"trains_on_inputs": "no"},
        {"more": 1},
    ],
)
def test_declared_facts_are_exactly_these(tmp_path, changes):
    file = tmp_path / "facts.json"
    file.write_text(json.dumps(FACTS))
    assert read_declared_facts(file).as_json() == FACTS
    file.write_text(json.dumps(FACTS | changes))
    with pytest.raises(DeclaredFactsError):
        read_declared_facts(file)


@pytest.mark.parametrize("content", ["", "[]", "7", '{"declared_by": "x"}', "\xff"])
def test_a_file_without_facts_is_refused(tmp_path, content):
    file = tmp_path / "facts.json"
    file.write_text(content, encoding="latin-1")
    with pytest.raises(DeclaredFactsError):
        read_declared_facts(file)
