"""What is told when something changes: the event types of facts 4.1, booked with the change itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.charges import charge_object, get_charge
from config.demo.gateway_simulator.event_list import list_events, retrieve_event
from config.demo.gateway_simulator.forms import Form
from config.demo.gateway_simulator.outbox import Event, Outbox
from config.demo.gateway_simulator.refund_objects import set_status


@dataclass(frozen=True, slots=True)
class Cause:
    """The API request that caused a change; both are None for automatic changes and the dashboard (facts 2.2)."""

    request_id: str | None = None
    idempotency_key: str | None = None


_NOBODY = Cause()


class Events:
    """Each method must run inside ``book.transaction()`` and returns the deliveries that must leave first."""

    def __init__(self, *, book: Book, outbox: Outbox) -> None:
        self._book = book
        self.outbox = outbox

    def refund_created(self, refund: Mapping[str, Any], account: str, cause: Cause = _NOBODY) -> list[int]:
        """Tell of a new refund: refund.created, and charge.refunded with the charge, partial ones too.

        A synchronous card refund has no refund.updated (facts 4.1, trap).
        """
        events = [self._event("refund.created", refund, account, cause)]
        if refund["status"] not in ("failed", "canceled"):
            charge = get_charge(self._book, account, refund["charge"], param="charge")
            events.append(self._event("charge.refunded", charge_object(self._book, charge), account, cause))
        return self.outbox.add(events)

    def refund_changed(
        self,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        account: str,
        cause: Cause = _NOBODY,
    ) -> list[int]:
        """Tell of a changed refund, with what it was before; nothing if it is as it was."""
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        if not names:
            return []
        was = {name: before.get(name) for name in names}
        types = ["refund.updated"]
        if "status" in was and after["status"] == "failed":  # canceled: facts name refund.updated only (4.1)
            types.append("refund.failed")
        types.append("charge.refund.updated")  # deprecated, still sent (facts 4.1)
        return self.outbox.add([self._event(kind, after, account, cause, was=was) for kind in types])

    def set_refund_status(
        self, identifier: str, status: str, failure_reason: str | None = None
    ) -> dict[str, Any]:
        """Let time pass for one refund, and tell it; raises ApiError for an unknown one."""
        after, _ = self.move_refund(identifier, status, failure_reason, _NOBODY)
        return after

    def move_refund(
        self, identifier: str, status: str, failure_reason: str | None, cause: Cause
    ) -> tuple[dict[str, Any], list[int]]:
        """Change a refund's status for a cause, and tell it; return it with the deliveries that must leave first."""
        before, after, account = set_status(self._book, identifier, status, failure_reason)
        return after, self.refund_changed(before, after, account, cause)

    def listed(self, account: str, form: Form) -> dict[str, Any]:
        """Return one page of the events of an account (docs.stripe.com/api/events/list)."""
        return list_events(self._book, account, form, undelivered=self.outbox.undelivered)

    def one(self, account: str, identifier: str, form: Form) -> dict[str, Any]:
        """Return one event; raises 404 if there is none (docs.stripe.com/api/events/retrieve)."""
        return retrieve_event(self._book, account, identifier, form)

    def dispute(self, event_type: str, dispute: Mapping[str, Any], account: str) -> list[int]:
        """Tell of a dispute: charge.dispute.created, .closed, .funds_withdrawn, .funds_reinstated."""
        return self.outbox.add([self._event(event_type, dispute, account, _NOBODY)])

    def anything(self, event: Event) -> list[int]:
        """Tell whatever the control side wrote."""
        return self.outbox.add([event])

    def _event(
        self,
        event_type: str,
        thing: Mapping[str, Any],
        account: str,
        cause: Cause,
        *,
        was: Row | None = None,
    ) -> Event:
        return Event(
            type=event_type,
            object=thing,
            account=account,
            previous_attributes=was,
            request_id=cause.request_id,
            idempotency_key=cause.idempotency_key,
            about=ids_of(thing),
        )


def ids_of(thing: Mapping[str, Any]) -> list[str]:
    """Return the ids by which an object is found: its own and those of its payment."""
    named = (thing.get("id"), thing.get("charge"), thing.get("payment_intent"))
    return [one for one in named if isinstance(one, str)]
