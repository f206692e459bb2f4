"""A hypothesis state machine over the product: what it promises, as a model that knows nothing of the code.

The model keeps what anybody outside could know: what was asked, decided and switched, and what the provider's network
saw. From that alone it says what must be true of the desk after every rule.
"""

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.torture.database import Observer
from tests.torture.oracles.endings import endings
from tests.torture.people import People
from tests.torture.points import FAULTS, Fault, Kind, Point
from tests.torture.run import Run
from tests.torture.shop import duplicate_shop

AMOUNTS = st.sampled_from([4_999, 20_000, 60_000])  # by the rule, by one person, by two
ANSWERS = st.sampled_from([None, *(fault for fault in FAULTS[Kind.POST] if fault is not Fault.SLOW)])
SECONDS = st.sampled_from([1, 30, 180, 1_000, 4_000, 40_000, 90_000])
STATUSES = st.sampled_from(["succeeded", "failed", "canceled", "pending"])
_TOLD_PAID, _TOLD_BACK = "refund.completed:", "refund.returned:"


class Desk(RuleBasedStateMachine):
    """One customer, one order that was charged twice, and everything that can happen to the refund of it."""

    observer: Observer

    def __init__(self) -> None:
        super().__init__()
        self.run = Run(self.observer)
        self._started = self.run.started()
        self._started.__enter__()
        self.withdrawn_at: int | None = None  # how many calls had left by then
        self.switched_off_at: int | None = None
        self.approvals_given = 0
        self.needed = 0
        self._crash_at: int | None = None
        self.run.injector.choose = self._choose

    def teardown(self) -> None:
        """Let everything come to rest: then nobody is left without an answer, and both books agree."""
        try:
            self.run.injector.choose = lambda _point: None
            if hasattr(self, "people"):
                self.people.switch(on=True)
                self.run.habits.delivers_events = True
                self.run.settle()
                self.run.full_round()
                found = [*self.run.violations, *endings(self.run.rows, self.run.provider, events_lost=False)]
                assert not found, found
        finally:
            self._started.__exit__(None, None, None)

    def _choose(self, point: Point) -> Fault | None:
        if self._crash_at is None or point.place < self._crash_at:
            return None
        self._crash_at = None
        return Fault.CRASH_BEFORE

    # -- the customer
    @initialize(amount=AMOUNTS)
    def ask(self, amount: int) -> None:
        """Ask for the refund; the amount decides how many people must agree."""
        self.people = People(self.run, duplicate_shop(self.run.provider, self.run.clock(), amount=amount))
        self.needed = {4_999: 0, 20_000: 1, 60_000: 2}[amount]
        self.people.ask()

    @rule()
    def ask_again(self) -> None:
        """Asking twice is one request, while the first is open."""
        before = len(self.run.rows.workflows)
        self.people.ask()
        if len(self.run.rows.workflows) > before:
            self.withdrawn_at = None  # a new request, which may be paid
        open_ones = [row for row in self.run.rows.workflows if row["open_slot"] is not None]
        assert len(open_ones) <= 1

    @rule()
    def withdraw(self) -> None:
        """Take it back: nothing may leave after that was granted."""
        self.people.withdraw()
        if any(row["state"] == "WITHDRAWN" for row in self.run.rows.workflows) and self.withdrawn_at is None:
            self.withdrawn_at = len(self.run.provider.submissions)
            assert not self.run.rows.operations, "granted although an operation stands"

    @rule()
    def want_a_person(self) -> None:
        """Ask for a person."""
        self.people.ask_person()

    # -- staff and operator
    @rule(by=st.sampled_from([1, 2]))
    def approve(self, by: int) -> None:
        """One more person agrees."""
        before = len(self.run.rows.approval_events)
        self.people.decide(by=by)
        self.approvals_given += len(self.run.rows.approval_events) > before

    @rule(on=st.booleans())
    def switch(self, on: bool) -> None:
        """Turn the kill switch."""
        self.people.switch(on=on)
        stands = {row["name"]: row["is_on"] for row in self.run.rows.switches}
        is_off = stands.get("gateway_writes") is False
        self.switched_off_at = len(self.run.provider.submissions) if is_off else None

    # -- the machines
    @precondition(lambda self: self.run.messages)
    @rule(answer=ANSWERS, crash_at=st.none() | st.integers(1, 30))
    def work(self, answer: Fault | None, crash_at: int | None) -> None:
        """Let a worker take the next message; the provider answers so, and the worker may die."""
        if answer is not None:
            self.run.wire.ordered = [answer]
        self._crash_at = crash_at
        self.run.carry(self.run.messages.pop(0))
        self._crash_at, self.run.wire.ordered = None, []

    @precondition(lambda self: self.run.messages)
    @rule()
    def wipe_the_broker(self) -> None:
        """Redis may be emptied at any moment."""
        self.run.messages.clear()

    @rule(seconds=SECONDS)
    def wait(self, seconds: int) -> None:
        """Let time pass, and the scanners look."""
        self.run.clock.advance(timedelta(seconds=seconds))
        self.run.full_round()

    # -- the provider
    @precondition(lambda self: self.run.provider.refunds)
    @rule(status=STATUSES)
    def change(self, status: str) -> None:
        """The provider changes its mind about a refund that stands."""
        newest = self.run.provider.refunds[-1]
        if newest.live:
            self.run.provider.change(newest.reference, status)

    @precondition(lambda self: self.run.provider.events)
    @rule(twice=st.booleans())
    def tell(self, twice: bool) -> None:
        """An event arrives, perhaps twice."""
        event = self.run.provider.events.pop(0)
        for _ in range(1 + twice):
            assert self.run.deliver(event) == 200

    # -- what the product promises
    @invariant()
    def nothing_is_broken(self) -> None:
        """Everything that is asked after every step of every run."""
        assert not self.run.violations, self.run.violations

    @invariant()
    def paid_at_most_once(self) -> None:
        """However often it was sent: one refund stands at the provider, and never more than was charged."""
        assert sum(one.live for one in self.run.provider.refunds) <= 1

    @invariant()
    def nobody_is_paid_unasked(self) -> None:
        """What leaves was agreed to by as many people as it needs."""
        if self.run.provider.submissions:
            assert self.approvals_given >= self.needed

    @invariant()
    def what_was_stopped_stays_stopped(self) -> None:
        """No call leaves after a withdrawal was granted, or while the switch is off."""
        sent = len(self.run.provider.submissions)
        assert self.withdrawn_at in (None, sent)
        assert self.switched_off_at in (None, sent)

    @invariant()
    def nobody_is_told_more_than_is_true(self) -> None:
        """A customer hears "refunded" only if it was, and "came back" only if it did."""
        for row in self.run.rows.notifications:
            event = row["logical_event_id"]
            mine = [one for one in self.run.provider.refunds if one.operation_id == event.partition(":")[2]]
            if event.startswith(_TOLD_PAID):
                assert any("succeeded" in one.history for one in mine)
            if event.startswith(_TOLD_BACK):
                assert any({"failed", "canceled"} & {*one.history} for one in mine)
