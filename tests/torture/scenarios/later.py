"""What happens beside a refund and after it: events, late truth, the kill switch, disputes, the dashboard."""

from datetime import timedelta

from tests.torture.people import People
from tests.torture.points import Fault
from tests.torture.run import Run
from tests.torture.scenarios.beginnings import asked, of_a_duplicate
from tests.torture.shop import single_shop

ABOVE_THE_LIMIT = 20_000


def _fail_late(run: Run) -> None:
    for refund in run.provider.refunds:
        run.provider.change(refund.reference, "failed")
    run.habits.delivers_events = True
    run.settle()


def failed_late(run: Run) -> None:
    """Days after completion the money comes back; a new decision leads to a new refund."""
    people = asked(run)
    run.clock.advance(timedelta(days=2))
    _fail_late(run)
    run.habits.delivers_events = False
    people.work("read_evidence_again")
    run.settle()
    people.decide()
    run.settle()


def event_before_answer(run: Run) -> None:
    """The provider's event arrives, and is applied, before the call that caused it is answered."""
    people = of_a_duplicate(run)

    def arrive() -> None:
        for event in [*run.provider.events]:
            run.deliver(event)
        run.provider.events.clear()
        run.drain()

    run.wire.before_answering = arrive
    people.ask()
    run.settle()


def event_twice(run: Run) -> None:
    """Each event arrives twice, in the wrong order, after the answer was lost."""
    of_a_duplicate(run).ask()
    run.wire.ordered = [Fault.LOST_AFTER]
    while run.messages:
        run.carry(run.messages.pop(0))
        for event in [*reversed(run.provider.events)] * 2:
            run.deliver(event)
        run.provider.events.clear()
    run.settle()


def told_during_an_outage(run: Run) -> None:
    """An event about a refund that is complete arrives while nothing can be looked up at the provider."""
    asked(run)
    run.provider.unreachable_until = run.clock.at + timedelta(hours=1)
    run.habits.delivers_events = True
    run.settle()


def forged_event(run: Run) -> None:
    """Somebody else sends events about our refund: unsigned, with an old signature, and about nothing of ours."""
    people = of_a_duplicate(run)
    run.wire.ordered = [Fault.PENDING]
    people.ask()
    run.drain()
    for event in [*run.provider.events]:
        forged = {**event, "id": f"{event['id']}_forged"}
        run.watch.forged_events.add(str(forged["id"]))
        run.deliver(forged, secret="whsec_of_somebody_else")
        run.deliver(forged, late=timedelta(hours=1))
    run.settle()


def switched_off(run: Run) -> None:
    """The kill switch stops what is approved; an hour later it goes on."""
    people = of_a_duplicate(run)
    people.switch(on=False)
    people.ask()
    run.drain()
    run.clock.advance(timedelta(hours=1))
    people.switch(on=True)
    run.settle()


def switched_off_under_way(run: Run) -> None:
    """Switched off between the operation and its call, until the approval has expired."""
    people = of_a_duplicate(run)
    people.ask()
    _carry_until(run, "submit_operation")
    people.switch(on=False)
    run.drain()
    run.clock.advance(timedelta(hours=30))
    people.switch(on=True)
    run.settle()
    people.decide()
    run.settle()


def past_the_safe_window(run: Run) -> None:
    """Proven absent while nothing may be sent; a day later the key is no longer safe."""
    people = of_a_duplicate(run)
    run.wire.ordered = [Fault.LOST_BEFORE]
    people.ask()
    run.drain()
    people.switch(on=False)
    run.clock.advance(timedelta(hours=1))
    run.beat(["recover_submitted", "reconcile_unknown"])
    run.clock.advance(timedelta(hours=22, minutes=30))
    people.switch(on=True)
    run.settle()


def withdrawn_at_the_same_moment(run: Run) -> None:
    """The customer takes the request back while a worker makes the operation of it."""
    people = of_a_duplicate(run, amount=ABOVE_THE_LIMIT)
    people.ask()
    run.settle()
    people.decide()
    waiting = [run.working(message) for message in run.messages[:1]]
    run.messages = run.messages[1:]
    run.race([*people.acts_of("withdraw"), *waiting])
    run.settle()


def decided_at_the_same_moment(run: Run) -> None:
    """Two people decide at once, one for and one against it."""
    people = of_a_duplicate(run, amount=ABOVE_THE_LIMIT)
    people.ask()
    run.settle()
    run.race([*people.acts_of("decide", by=1), *people.acts_of("decide", decision="reject", by=2)])
    run.settle()


def disputed_before_sending(run: Run) -> None:
    """A dispute that appears between approval and submission stops it."""
    people = of_a_duplicate(run)
    people.ask()
    _carry_until(run, "submit_operation")
    people.dispute()
    run.settle()


def disputed_before_resending(run: Run) -> None:
    """A dispute appears after a call was lost: what was sent stays for people."""
    people = of_a_duplicate(run)
    run.wire.ordered = [Fault.LOST_BEFORE]
    people.ask()
    run.drain()
    people.dispute()
    run.settle()


def refunded_in_dashboard(run: Run) -> None:
    """Somebody refunded the charge in the provider's dashboard, and nobody told the desk before it sent."""
    people = of_a_duplicate(run)
    people.refund_in_dashboard(4999)
    people.ask()
    run.settle()


def dashboard_event(run: Run) -> None:
    """A part is refunded in the dashboard and told; staff then ask for more than is left."""
    people = People(run, single_shop(run.provider, run.clock()))
    people.start_refund(6000, form="f1")
    run.settle()
    people.refund_in_dashboard(5000)
    run.habits.delivers_events = True
    run.settle()
    people.decide()
    run.settle()


def _carry_until(run: Run, task: str) -> None:
    """Carry messages until one of this task is next."""
    while run.messages and run.messages[0].task != task:
        run.carry(run.messages.pop(0))
