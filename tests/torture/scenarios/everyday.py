"""Refunds that go their ordinary way, and the people who stop them."""

from datetime import timedelta

from tests.torture.beat import SCANNERS
from tests.torture.people import People
from tests.torture.points import Fault
from tests.torture.run import Run
from tests.torture.shop import duplicate_shop, single_shop

ABOVE_THE_LIMIT, FOR_TWO_PEOPLE = 20_000, 60_000


def _asked(run: Run, **shop: object) -> People:
    """Return the people of a shop whose customer has just asked."""
    people = People(run, duplicate_shop(run.provider, run.clock(), **shop))  # type: ignore[arg-type]
    people.ask()
    return people


def automatic(run: Run) -> None:
    """A verified duplicate below the limit is refunded without anybody."""
    _asked(run)
    run.settle()


def all_scanners(run: Run) -> None:
    """The whole beat table, at every moment of a refund whose call is lost: before, while it is unknown, and after."""
    people = People(run, duplicate_shop(run.provider, run.clock()))
    run.wire.ordered = [Fault.LOST_BEFORE]
    people.ask()
    run.messages.clear()
    run.full_round()
    people.ask_person()
    run.clock.advance(timedelta(days=1))
    run.full_round()
    run.clock.advance(timedelta(days=9))
    run.full_round()


def unknown_under_every_scanner(run: Run) -> None:
    """The whole beat table while an outcome is unknown, and while people have it longer than they promised."""
    people = People(run, duplicate_shop(run.provider, run.clock()))
    run.wire.ordered = [Fault.CACHED_500]
    people.ask()
    run.drain()
    run.beat(SCANNERS)
    run.full_round()
    run.clock.advance(timedelta(days=12))
    run.full_round()


def approved(run: Run) -> None:
    """Above the limit a person approves."""
    people = _asked(run, amount=ABOVE_THE_LIMIT)
    run.settle()
    people.decide()
    run.settle()


def two_people(run: Run) -> None:
    """Far above the limit two people approve."""
    people = _asked(run, amount=FOR_TWO_PEOPLE)
    run.settle()
    people.decide(by=1)
    people.decide(by=2)
    run.settle()


def rejected(run: Run) -> None:
    """A person says no; the customer then asks for another one, who closes the request."""
    people = _asked(run, amount=ABOVE_THE_LIMIT)
    run.settle()
    people.decide("reject")
    run.settle()
    people.ask_person()
    run.settle()
    people.work("close_without_refund", outcome="NO_REFUND_DUE")
    run.settle()


def partials(run: Run) -> None:
    """Staff refund two parts of one charge; nothing is left for a third."""
    people = People(run, single_shop(run.provider, run.clock()))
    people.start_refund(6000, form="f1")
    people.start_refund(4000, form="f2")
    run.settle()
    people.decide()
    run.settle()
    people.start_refund(100, form="f3")
    run.settle()


def partials_too_much(run: Run) -> None:
    """Of two parts that do not fit together one is refunded, and people get the other."""
    people = People(run, single_shop(run.provider, run.clock()))
    people.start_refund(6000, form="f1")
    people.start_refund(6000, form="f2")
    run.settle()
    people.decide()
    run.settle()


def withdrawn_at_once(run: Run) -> None:
    """The customer takes the request back before anything was read."""
    people = _asked(run)
    people.withdraw()
    run.settle()


def withdrawn_in_the_queue(run: Run) -> None:
    """The customer takes the request back while it waits for a person."""
    people = _asked(run, amount=ABOVE_THE_LIMIT)
    run.settle()
    people.withdraw()
    people.decide()
    run.settle()


def withdrawn_after_approval(run: Run) -> None:
    """The customer takes it back between the approval and the operation."""
    people = _asked(run, amount=ABOVE_THE_LIMIT)
    run.settle()
    people.decide()
    people.withdraw()
    run.settle()


def person_asked(run: Run) -> None:
    """The customer wants a person before anything was read; that person rebuilds the command, others approve."""
    people = _asked(run)
    people.ask_person()
    run.settle()
    people.work("rebuild_command", by=1)
    run.settle()
    people.decide(by=1)  # the maker may not
    people.decide(by=2)
    run.settle()


def closed_by_staff(run: Run) -> None:
    """The customer wants a person, who reads the evidence again; another closes the request as rejected."""
    people = _asked(run)
    people.ask_person()
    run.settle()
    people.work("read_evidence_again")
    run.settle()
    people.ask_person()
    people.decide("reject", by=2)
    run.settle()
    people.work("close_without_refund", outcome="REJECTED")
    run.settle()
