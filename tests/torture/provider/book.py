"""The provider's side of a run: what it booked, what it answered, and what it still does later. Nothing of the product.

It keeps the promises of docs.stripe.com that the desk rests on: one execution for each key while the key is kept,
kept answers replayed, a complete list that shows a refund as soon as it is booked. Times are the run's.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from urllib.parse import parse_qsl

from tests.torture.points import Fault
from tests.torture.provider.records import (
    ANY_BODY,
    KEY_RETENTION,
    Answer,
    BookedRefund,
    Charge,
    Kept,
    Submission,
)

_INVALID = "invalid_request_error"
_NEVER_ARRIVES = frozenset({Fault.LOST_BEFORE, Fault.NOT_CONNECTED})
_ANSWER_LOST = frozenset({Fault.LOST_AFTER, Fault.TIMED_OUT, Fault.STILL_RUNNING})
_GATEWAY = Answer(502, b"<html>bad gateway</html>")
# Answered before anything is executed, and kept under no key.
_IN_FRONT: dict[Fault | None, Answer] = {
    Fault.BAD_GATEWAY: _GATEWAY,
    Fault.IN_USE_409: Answer.error(409, _INVALID, "idempotency_key_in_use"),
    Fault.LIMITED_429: Answer(
        429,
        Answer.error(429, _INVALID, "rate_limit").body,
        {"stripe-rate-limited-reason": "global-rate"},
    ),
    Fault.LOCKED_429: Answer.error(429, _INVALID, "lock_timeout"),
}
_REFUSED = 400
# Executed, and spoilt on its way.
_ON_THE_WAY_BACK = {
    Fault.UNPARSABLE: Answer(200, b"<html>something else</html>"),
    Fault.BAD_GATEWAY_BOOKED: _GATEWAY,
}


class Provider:
    """``now`` is asked for the run's time; ``tell`` is called with each event that the provider would send."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.now = now
        self.charges: dict[str, Charge] = {}
        self.refunds: list[BookedRefund] = []
        self.submissions: list[Submission] = []
        self.lists_read: list[tuple[datetime, str]] = []  # complete lists that reached the desk, by charge
        self.unreachable_until: datetime | None = None
        self.runs_for = timedelta(minutes=9)  # a call that is still running when its connection ends
        self._forgotten: list[dict[str, str]] = []  # calls that a kept 500 ended without an effect
        self.hidden_until: datetime | None = None  # lists know no charge until then
        self.events: list[dict[str, object]] = []  # told and not yet delivered
        self._keys: dict[str, Kept] = {}
        self._later: list[tuple[datetime, str, Callable[[], None]]] = []
        self._numbers = {"re": 0, "evt": 0}

    # -- time
    def catch_up(self) -> None:
        """Do what is due by now."""
        due = [one for one in self._later if one[0] <= self.now()]
        self._later = [one for one in self._later if one[0] > self.now()]
        for _, _, act in sorted(due, key=lambda one: one[0]):
            act()

    def later(self, wait: timedelta, operation_id: str, act: Callable[[], None]) -> None:
        """Plan something that happens by itself."""
        self._later.append((self.now() + wait, operation_id, act))

    def next_act(self) -> datetime | None:
        """Return when something happens by itself, None if nothing will."""
        return min((at for at, _, _ in self._later), default=None)

    def will_book(self, operation_id: str) -> bool:
        """Say whether a refund of this operation is still to appear."""
        return any(about == operation_id for _, about, _ in self._later)

    # -- what exists
    def of_operation(self, operation_id: str) -> list[BookedRefund]:
        """Return every refund that carries this operation's id."""
        return [one for one in self.refunds if one.operation_id == operation_id]

    def live_amount(self, charge: str, *, ours: bool | None = None) -> int:
        """Return what of a charge is refunded or on its way; ``ours`` picks those with or without our id."""
        return sum(
            one.amount
            for one in self.refunds
            if one.charge == charge and one.live and ours in (None, one.operation_id is not None)
        )

    def seed(self, reference: str, amount: int, currency: str) -> None:
        """Put a captured charge into the book."""
        self.charges[reference] = Charge(reference, amount, currency.lower())

    def fingerprint(self) -> tuple[object, ...]:
        """Return everything that the oracles look at, in a form that can be compared."""
        statuses = tuple(len(one.history) for one in self.refunds)
        return (statuses, len(self.submissions), len(self._later), len(self.lists_read))

    # -- the API
    def submit(self, body: str, key: str, fault: Fault | None) -> Answer | None:
        """Execute a create once under its key, as the fault bends it; None is a lost connection."""
        self.catch_up()
        form = dict(parse_qsl(body))
        operation_id = form.get("metadata[refund_operation_id]", "")
        sent = Submission(self.now(), key, body, operation_id, ambiguous=True)
        self.submissions.append(sent)
        answer = self._answer(form, body, key, fault)
        sent.status = answer.status if answer else None
        limited = answer is not None and "stripe-rate-limited-reason" in answer.headers
        sent.ambiguous = not limited and fault is not Fault.NOT_CONNECTED
        return answer

    def _answer(self, form: dict[str, str], body: str, key: str, fault: Fault | None) -> Answer | None:
        if fault in _NEVER_ARRIVES:
            return None
        if fault in _IN_FRONT:
            return _IN_FRONT[fault]
        answer = self._once(form, body, key, fault)
        return None if fault in _ANSWER_LOST else _ON_THE_WAY_BACK.get(fault or Fault.SLOW, answer)

    def _once(self, form: dict[str, str], body: str, key: str, fault: Fault | None) -> Answer:
        kept = self._keys.get(key)
        if kept is not None and self.now() - kept.first_at >= KEY_RETENTION:
            kept = None  # pruned
        if kept is not None:
            if kept.body not in {body, ANY_BODY}:
                return Answer.error(400, "idempotency_error")
            if kept.answer is None:
                return Answer.error(409, "invalid_request_error", "idempotency_key_in_use")
            return Answer(kept.answer.status, kept.answer.body, {"idempotent-replayed": "true"})
        kept = self._keys[key] = Kept(body, self.now(), None)
        if fault is Fault.STILL_RUNNING:

            def finish() -> None:
                kept.answer = self._execute(form, None)

            self.later(self.runs_for, form.get("metadata[refund_operation_id]", ""), finish)
            return Answer.error(409, "invalid_request_error", "idempotency_key_in_use")
        kept.answer = self._execute(form, fault)
        return kept.answer

    def _execute(self, form: dict[str, str], fault: Fault | None) -> Answer:
        broken = Answer.error(500, "api_error")
        if fault is Fault.CACHED_500:
            self._forgotten.append(form)
            return broken
        if fault is Fault.CACHED_500_LATER:
            operation_id = form.get("metadata[refund_operation_id]", "")
            self.later(timedelta(hours=3), operation_id, lambda: self._book_if_possible(form))
            return broken
        refused = self._refusal(form, fault)
        if refused is not None:
            return refused
        status = {
            Fault.PENDING: "pending",
            Fault.REQUIRES_ACTION: "requires_action",
            Fault.FAILED: "failed",
        }.get(fault or Fault.SLOW, "succeeded")
        made = self._book(form, status)
        if status in {"pending", "requires_action"}:
            self.settle_later(made)
        return broken if fault is Fault.CACHED_500_BOOKED else Answer.of(made.as_json())

    def _refusal(self, form: dict[str, str], fault: Fault | None) -> Answer | None:
        charge = self.charges.get(form.get("charge", ""))
        invalid = "invalid_request_error"
        if charge is None:
            return Answer.error(404, invalid, "resource_missing")
        if fault is Fault.DISPUTED:
            charge.disputed = True
        if charge.disputed:
            return Answer.error(400, invalid, "charge_disputed")
        left = charge.amount - self.live_amount(charge.reference)
        if left <= 0:
            return Answer.error(400, invalid, "charge_already_refunded")
        if int(form["amount"]) > left:
            return Answer.error(400, invalid, "amount_too_large")
        return None

    def _book_if_possible(self, form: dict[str, str]) -> None:
        if self._refusal(form, None) is None:
            self._book(form, "succeeded")

    def _book(self, form: dict[str, str], status: str) -> BookedRefund:
        charge = self.charges[form["charge"]]
        made = BookedRefund(
            reference=self._id("re"),
            operation_id=form.get("metadata[refund_operation_id]"),
            charge=charge.reference,
            amount=int(form["amount"]),
            currency=charge.currency,
            status=status,
            at=self.now(),
            history=[status],
        )
        self.refunds.append(made)
        self._tell("refund.created", made)
        return made

    def list(self, charge: str) -> Answer:
        """Return the complete list of a charge's refunds, newest first."""
        self.catch_up()
        hidden = self.hidden_until is not None and self.now() < self.hidden_until
        if charge not in self.charges or hidden:
            return Answer.error(404, "invalid_request_error", "resource_missing")
        self.lists_read.append((self.now(), charge))
        found = [one.as_json() for one in reversed(self.refunds) if one.charge == charge]
        return Answer.of({"object": "list", "url": "/v1/refunds", "has_more": False, "data": found})

    def retrieve(self, reference: str) -> Answer:
        """Return one refund, or 404."""
        self.catch_up()
        for one in self.refunds:
            if one.reference == reference:
                return Answer.of(one.as_json())
        return Answer.error(404, "invalid_request_error", "resource_missing")

    # -- what happens without us
    def settle_later(self, refund: BookedRefund) -> None:
        """Let a refund that is on its way then arrive, hours from now."""
        self.later(timedelta(hours=5), "", lambda: self._settle(refund))

    def _settle(self, refund: BookedRefund) -> None:
        if refund.status in {"pending", "requires_action"}:
            self.change(refund.reference, "succeeded")

    def change(self, reference: str, status: str) -> None:
        """Let a refund become something else, and tell it."""
        for one in self.refunds:
            if one.reference == reference and one.status != status:
                one.become(status)
                self._tell("refund.updated", one)
                if status == "failed":
                    self._tell("refund.failed", one)

    def remember(self) -> None:
        """Let the effect of a kept 500 appear after all."""
        for form in self._forgotten:
            self._book_if_possible(form)

    def refund_in_dashboard(self, charge: str, amount: int) -> BookedRefund:
        """Make a refund that nobody at the desk ordered."""
        return self._book({"charge": charge, "amount": str(amount)}, "succeeded")

    def book_for_somebody(self, charge: str, amount: int, operation_id: str) -> None:
        """Make the refund of an operation under its key although nobody here sent it; nothing if it may be made already.

        Whoever sends it then is answered from what the key keeps, as after any first call. A key that keeps a refusal
        keeps it: then the refund was made without the key.
        """
        key = f"refund:{operation_id}"
        kept = self._keys.get(key)
        refused = kept is not None and kept.answer is not None and kept.answer.status == _REFUSED
        if self.of_operation(operation_id) or self.will_book(operation_id) or (kept and not refused):
            return
        form = {"charge": charge, "amount": str(amount), "metadata[refund_operation_id]": operation_id}
        made = self._book(form, "succeeded")
        made.by_somebody = True
        if kept is None:
            self._keys[key] = Kept(ANY_BODY, self.now(), Answer.of(made.as_json()))

    def _tell(self, kind: str, about: BookedRefund) -> None:
        self.events.append(
            {
                "id": self._id("evt"),
                "object": "event",
                "api_version": "2026-10-28.endive",
                "created": int(self.now().timestamp()),
                "livemode": False,
                "type": kind,
                "data": {"object": about.as_json()},
            }
        )

    def _id(self, prefix: str) -> str:
        self._numbers[prefix] += 1
        return f"{prefix}_{self._numbers[prefix]:06d}"
