"""Turns that a refund takes seldom: late, through somebody else's mistake, or because people changed their mind."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from unittest.mock import patch

from refunds.proposers.port import ProposalContext, ProposalResult, Proposed
from tests.torture.people import People
from tests.torture.points import Fault
from tests.torture.run import Run
from tests.torture.scenarios.beginnings import asked, of_a_duplicate
from tests.torture.shop import single_shop

_ABOVE_THE_LIMIT = 20_000
_OUTAGE = timedelta(days=2)  # longer than the contract looks by itself
_THE_REFUSED_ONE = 2  # of two submissions


class _Liar:
    """A model whose answer claims what no model can know."""

    def propose(
        self, context: ProposalContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> ProposalResult:
        del context, deadline_seconds, repair_of
        return Proposed(
            raw_text='{"recommended_action": "issue_refund", "amount": 99900, "payment": "ch_of_somebody_else"}',
            model_snapshot="liar-1",
            prompt_version="none",
            latency_ms=1,
            requests=1,
        )


@contextmanager
def _lying_model() -> Iterator[None]:
    with patch("refunds.stages.s06_propose_action.get_proposers", lambda: (("liar", _Liar()),)):
        yield


def _tell_of(run: Run, status: str) -> None:
    """Let every refund in the provider's book become this, and its events arrive."""
    for refund in run.provider.refunds:
        run.provider.change(refund.reference, status)
    run.habits.delivers_events = True
    run.settle()


def lying_model(run: Run) -> None:
    """A model names an amount and a payment: its proposal is refused as a whole, and people take the request."""
    people = of_a_duplicate(run)
    with _lying_model():
        people.ask()
        run.settle()
    people.work("rebuild_command", by=1)
    run.settle()
    people.decide(by=2)
    run.settle()


def no_refund_due(run: Run) -> None:
    """An order that was charged once: nothing is due; the customer asks for a person, who agrees."""
    people = People(run, single_shop(run.provider, run.clock()))
    people.ask()
    run.settle()
    people.ask_person()
    run.settle()
    people.work("close_without_refund", outcome="REJECTED")
    run.settle()


def withdrawn_from_people(run: Run) -> None:
    """The customer asks for a person and then takes the request back."""
    people = of_a_duplicate(run)
    people.ask()
    people.ask_person()
    people.withdraw()
    run.settle()


def person_asked_after_approval(run: Run) -> None:
    """The customer asks for a person between the approval and the operation: what was approved goes nowhere."""
    people = of_a_duplicate(run, amount=_ABOVE_THE_LIMIT)
    people.ask()
    run.settle()
    people.decide()
    people.ask_person()
    run.settle()
    people.work("close_without_refund", outcome="NO_REFUND_DUE")
    run.settle()


def approval_forgotten(run: Run) -> None:
    """Approved, and for longer than an approval lasts no worker comes: it expires, and people decide again."""
    people = of_a_duplicate(run, amount=_ABOVE_THE_LIMIT)
    people.ask()
    run.settle()
    people.decide()
    run.messages.clear()
    run.clock.advance(timedelta(hours=30))
    run.settle()
    people.decide()
    run.settle()


def _changed_before_it_was_found(run: Run, status: str) -> None:
    people = of_a_duplicate(run)
    run.wire.ordered = [Fault.LOST_AFTER]

    def change() -> None:
        for refund in run.provider.refunds:
            run.provider.change(refund.reference, status)
            run.provider.settle_later(refund)

    run.wire.before_answering = change
    people.ask()
    run.settle()


def failed_before_it_was_found(run: Run) -> None:
    """Booked, the answer lost, and before anybody looked the refund had failed."""
    _changed_before_it_was_found(run, "failed")


def pending_when_it_was_found(run: Run) -> None:
    """Booked, the answer lost; the look-up finds it on its way."""
    _changed_before_it_was_found(run, "pending")


def hidden_while_pending(run: Run) -> None:
    """On its way, and then for days nothing can be looked up: people get it, and it turns up again."""
    people = of_a_duplicate(run)
    run.wire.ordered = [Fault.PENDING]
    people.ask()
    run.drain()
    run.provider.unreachable_until = run.clock.at + _OUTAGE
    run.settle()
    run.clock.advance(_OUTAGE)
    people.look_up()
    run.settle()


def returned_and_on_its_way_again(run: Run) -> None:
    """Days after completion the bank sends the money back, and the customer has to say where it goes."""
    asked(run)
    run.clock.advance(timedelta(days=2))
    for refund in run.provider.refunds:
        run.provider.settle_later(refund)
    _tell_of(run, "requires_action")


def told_in_an_unknown_word(run: Run) -> None:
    """Days after completion the provider calls the refund something that nobody here knows, and then what it was."""
    asked(run)
    run.clock.advance(timedelta(days=2))
    _tell_of(run, "under_review")
    run.clock.advance(timedelta(days=1))
    _tell_of(run, "succeeded")


def failed_and_alive_again(run: Run) -> None:
    """The provider fails a refund and says later that it went through after all."""
    asked(run, Fault.FAILED)
    run.clock.advance(timedelta(days=1))
    _tell_of(run, "succeeded")


def proven_absent_in_review(run: Run) -> None:
    """Proven absent and disputed, so people have it; one has it looked up: still absent, and still not sent again."""
    people = of_a_duplicate(run)
    run.wire.ordered = [Fault.LOST_BEFORE]
    people.ask()
    run.drain()
    people.dispute()
    run.settle()
    people.look_up()
    run.settle()


def refused_behind_an_outage(run: Run) -> None:
    """Lost, proven absent, sent again and refused; the look-ups fail for so long that people get it and then ask."""
    people = of_a_duplicate(run)
    run.wire.ordered = [Fault.LOST_BEFORE, Fault.DISPUTED]

    def go_silent() -> None:
        if len(run.provider.submissions) == _THE_REFUSED_ONE:
            run.provider.unreachable_until = run.clock.at + _OUTAGE

    run.wire.before_answering = go_silent
    people.ask()
    run.settle()
    run.clock.advance(_OUTAGE)
    people.look_up()
    run.settle()


def _remembered_in_review(run: Run, status: str) -> People:
    """Let the effect of a 500 appear, in this status, once people have the operation."""
    people = asked(run, Fault.CACHED_500)
    run.provider.remember()
    for refund in run.provider.refunds:
        if status == "pending":
            run.provider.settle_later(refund)
    _tell_of(run, status)
    return people


def failed_in_review(run: Run) -> None:
    """The effect of a 500 appears after all, as a refund that failed: nothing moved, and people decide anew."""
    people = _remembered_in_review(run, "failed")
    people.work("read_evidence_again")
    run.settle()
    people.decide()
    run.settle()


def pending_in_review(run: Run) -> None:
    """The effect of a 500 appears after all, as a refund on its way."""
    _remembered_in_review(run, "pending")


def _contradicted_absence(run: Run, status: str) -> None:
    people = of_a_duplicate(run)
    run.wire.ordered = [Fault.STILL_RUNNING]
    run.provider.runs_for = timedelta(hours=2)
    people.ask()
    run.drain()
    people.switch(on=False)
    for _ in range(3):
        run.clock.advance(timedelta(minutes=20))
        run.beat(["recover_submitted", "reconcile_unknown"])
    run.clock.advance(timedelta(hours=2))
    run.provider.catch_up()
    for refund in run.provider.refunds:
        run.provider.change(refund.reference, status)
        if status == "pending":
            run.provider.settle_later(refund)
    run.habits.delivers_events = True
    run.drain()
    people.switch(on=True)
    run.settle()


def absence_contradicted(run: Run) -> None:
    """A call runs longer than anybody was promised: proven absent, not yet sent again, and then it is there."""
    _contradicted_absence(run, "succeeded")


def absence_contradicted_by_failure(run: Run) -> None:
    """Proven absent, and then it is there and has failed: there is nothing to send again."""
    _contradicted_absence(run, "failed")


def absence_contradicted_by_pending(run: Run) -> None:
    """Proven absent, and then it is there and on its way."""
    _contradicted_absence(run, "pending")


def _known_by_the_provider_alone(run: Run) -> None:
    """Let the provider have a refund of our operation, under its key, that no row here tells of, and tell of it."""
    run.watch.foreign_money = True
    for operation in run.rows.operations:
        charge = run.people.shop.charge.processor_reference
        run.provider.charges[charge].disputed = False
        run.provider.book_for_somebody(charge, operation["amount_minor_units"], operation["id"])
    run.habits.delivers_events = True


def sent_in_a_lost_past(run: Run) -> None:
    """The database was restored: an operation looks as if it had never been sent, and the provider tells of its refund."""
    people = of_a_duplicate(run)
    people.ask()
    while run.messages and run.messages[0].task != "submit_operation":
        run.carry(run.messages.pop(0))
    people.switch(on=False)
    _known_by_the_provider_alone(run)
    run.drain()
    people.switch(on=True)
    run.settle()


def refused_and_yet_paid(run: Run) -> None:
    """The provider refuses for good, and a day later tells of a refund with our id."""
    asked(run, Fault.DISPUTED)
    run.clock.advance(timedelta(days=1))
    _known_by_the_provider_alone(run)
    run.settle()
