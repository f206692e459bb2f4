"""The machinery itself: what is counted, what is planned, and that the windows are those of the contract."""

from datetime import timedelta

import pytest

from refunds.gateways.registry import get_contract
from refunds.verdicts import MAX_EXECUTIONS
from tests.torture import matrix, sweep
from tests.torture.injector import describe
from tests.torture.kill import Killed
from tests.torture.oracles.watch import IN_FLIGHT, MOST_EXECUTIONS, SAFE_RESEND
from tests.torture.points import FAULTS, Fault, Kind, Point
from tests.torture.report import report
from tests.torture.schedule import Result
from tests.torture.tally import Tally

CELL = ("ask", 1, "commit", "COMMIT")
LEGAL = {("operation", "CREATED", "SUBMITTED")}


def result(name, points=(), **more):
    return Result(
        name=name,
        trace=name,
        violations=more.pop("violations", ()),
        fired=more.pop("fired", ()),
        points=points,
        **more,
    )


def test_the_oracles_windows_are_the_contracts():
    contract = get_contract()
    windows = (contract.in_flight.horizon_seconds.value, contract.resend.safe_seconds.value)
    assert [timedelta(seconds=one) for one in windows] == [IN_FLIGHT, SAFE_RESEND]
    assert MOST_EXECUTIONS == MAX_EXECUTIONS


def test_a_cell_is_planned_once_in_its_shortest_story_with_every_fault():
    point = Point(1, Kind.COMMIT, "ask", 1, "COMMIT")
    other = Point(2, Kind.MAIL, "ask", 2, "MAIL")
    planned = sweep.plan({"long": result("long", (point, other)), "short": result("short", (point,))})
    assert [one.scenario for one in planned if one.cell == CELL] == ["short"] * len(FAULTS[Kind.COMMIT])
    assert {one.fault for one in planned if one.number == 2} == {*FAULTS[Kind.MAIL]}
    assert len({one.name for one in planned}) == len(planned)


def test_statements_are_named_without_their_values():
    assert describe('UPDATE "refund_operations" SET "state" = %s') == "UPDATE refund_operations"
    assert describe('SELECT 1 FROM "ledger_payments" FOR NO KEY UPDATE') == "FROM ledger_payments FOR UPDATE"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"covered": set()}, "not reached"),
        ({"killed": [Killed("d", "", None, 3)]}, "SURVIVED 3"),
        ({"written": 0}, "0 by the writer"),
    ],
)
def test_a_report_of_anything_missing_does_not_hold(change, line):
    whole = {
        "planned": {(CELL, Fault.ACK_LOST)},
        "covered": {(CELL, Fault.ACK_LOST)},
        "killed": [],
        "written": 1,
    }
    said = []
    assert report(Tally(**whole), LEGAL, said.append)
    said.clear()
    assert not report(Tally(**whole | change), LEGAL, said.append)
    assert any(line in one for one in said)


def test_a_violation_is_reported_with_its_seed():
    tally, said = Tally(), []
    tally.add(result("chaos-7", violations=(("ONE_KEY", "two"),), fired=((Kind.POST, Fault.SLOW),)))
    assert not report(tally, set(), said.append)
    assert any("make torture SEED=chaos-7" in one and "ONE_KEY" in one for one in said)


def test_tallies_of_two_processes_add_up():
    first, second = Tally(), Tally()
    first.add(result("chaos-1", fired=((Kind.POST, Fault.SLOW), (Kind.GET, Fault.NOT_FOUND))))
    second.add(result("chaos-2"))
    first.merge(second)
    assert (first.schedules, len(first.traces), first.families["chaos"]) == (2, 2, 2)
    assert first.pairs == {(Fault.SLOW, Fault.NOT_FOUND)}


@pytest.mark.django_db
def test_every_pair_of_states_is_taken_or_refused():
    taken, refused = matrix.every_pair()
    assert taken == len(matrix.legal_pairs())
    assert refused > taken
