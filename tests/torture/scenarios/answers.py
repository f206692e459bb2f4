"""What the provider and the wire do to a call, and what the desk makes of it."""

from datetime import timedelta

from tests.torture.points import Fault
from tests.torture.run import Run
from tests.torture.scenarios.beginnings import asked, of_a_duplicate


def lost_and_absent(run: Run) -> None:
    """A call never arrives; absence is proven and the same command is sent again under its key."""
    asked(run, Fault.LOST_BEFORE)


def lost_again_and_again(run: Run) -> None:
    """No call arrives: after the last attempt people have it, and the amount stays reserved."""
    people = asked(run, *[Fault.LOST_BEFORE] * 6)
    people.look_up()
    run.settle()


def lost_after_booking(run: Run) -> None:
    """The refund is booked and its answer is lost; it is looked up and never sent again."""
    asked(run, Fault.LOST_AFTER)


def still_running(run: Run) -> None:
    """The provider books nine minutes after the connection ended."""
    asked(run, Fault.STILL_RUNNING)


def not_connected(run: Run) -> None:
    """Twice there is no connection, and once a limiter: nothing was executed, so the operation waits."""
    asked(run, Fault.NOT_CONNECTED, Fault.LIMITED_429, Fault.NOT_CONNECTED)


def resend_refused(run: Run) -> None:
    """Proven absent and sent again, the command is refused; the earlier call is judged too."""
    asked(run, Fault.LOST_BEFORE, Fault.DISPUTED)


def server_error_booked(run: Run) -> None:
    """A 500 hides a refund."""
    asked(run, Fault.CACHED_500_BOOKED)


def server_error_later(run: Run) -> None:
    """A 500 whose effect appears three hours later."""
    asked(run, Fault.CACHED_500_LATER)


def server_error_for_ever(run: Run) -> None:
    """A 500 that never had an effect: nothing proves it, so people get it."""
    people = asked(run, Fault.CACHED_500)
    people.look_up()
    run.settle()


def given_up(run: Run) -> None:
    """A 500 that never had an effect: two people give the operation up, and a new one is approved and goes through."""
    people = asked(run, Fault.CACHED_500)
    people.give_up()
    run.settle()
    people.work("read_evidence_again")
    run.settle()
    people.decide(by=2)
    run.settle()


def given_up_and_yet_paid(run: Run) -> None:
    """Two people give it up, and then the effect of the 500 appears and is told of."""
    people = asked(run, Fault.CACHED_500)
    people.give_up()
    run.clock.advance(timedelta(days=2))
    run.provider.remember()
    run.habits.delivers_events = True
    run.settle()


def list_hidden(run: Run) -> None:
    """Booked, the answer lost, and for two hours the provider knows no such charge: another mode, or a mistake there."""
    people = of_a_duplicate(run)
    run.wire.ordered = [Fault.LOST_AFTER]
    run.provider.hidden_until = run.clock.at + timedelta(hours=2)
    people.ask()
    run.settle()


def pending_and_told(run: Run) -> None:
    """The provider takes hours, and tells of it at once."""
    run.habits.delivers_events = True
    asked(run, Fault.PENDING)


def pending(run: Run) -> None:
    """The provider takes hours."""
    asked(run, Fault.PENDING)


def action_required(run: Run) -> None:
    """The provider waits for the customer, and then it fails."""
    people = of_a_duplicate(run)
    run.wire.ordered = [Fault.REQUIRES_ACTION]
    people.ask()
    run.drain()
    for refund in run.provider.refunds:
        run.provider.change(refund.reference, "canceled")
    run.settle()


def failed_at_once(run: Run) -> None:
    """The provider accepts and fails the refund in one answer; people read again, approve, and it goes through."""
    people = asked(run, Fault.FAILED)
    people.work("read_evidence_again")
    run.settle()
    people.decide()
    run.settle()


def refused(run: Run) -> None:
    """The provider refuses for good and people decide."""
    asked(run, Fault.DISPUTED)


def refused_and_closed(run: Run) -> None:
    """The provider refuses for good and the policy closes the request."""
    people = of_a_duplicate(run, rules={"closes_on_gateway_rejection": True})
    run.wire.ordered = [Fault.DISPUTED]
    people.ask()
    run.settle()
