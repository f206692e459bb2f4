"""The two books of the demo: the provider's, read through HTTP, and ours, read through SQL."""

from dataclasses import dataclass
from typing import Any

import httpx2
from django.conf import settings
from django.db import connection


class ProviderBook:
    """The provider's simulator, asked for what it booked; this is the truth about money."""

    def __init__(self) -> None:
        self._client = httpx2.Client(base_url=settings.STRIPE_API_BASE, timeout=10)

    def seed(self, charges: list[dict[str, Any]]) -> None:
        """Put charges into the provider's book; seeding the same charge again changes nothing."""
        self._client.post("/_sim/charges", json=charges).raise_for_status()

    def seed_refunds(self, refunds: list[dict[str, Any]]) -> None:
        """Put refunds of earlier days into the provider's book, untold; those that it has already stay."""
        known = {refund["id"] for refund in self._all_refunds()}
        new = [
            {name: value for name, value in refund.items() if name != "currency"}
            for refund in refunds
            if refund["id"] not in known
        ]
        self._client.post("/_sim/refunds", json=new).raise_for_status()

    def refunds(self, charge: str) -> list[dict[str, Any]]:
        """Return every refund of a charge, oldest first."""
        answer = self._client.get("/_sim/refunds", params={"charge": charge}).raise_for_status()
        found: list[dict[str, Any]] = answer.json()["refunds"]
        return found

    def count_refunds(self) -> int:
        """Return how many refunds there are in the whole book."""
        return len(self._all_refunds())

    def _all_refunds(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._client.get("/_sim/refunds").raise_for_status().json()["refunds"]
        return found

    def posts_for(self, charge: str) -> list[dict[str, Any]]:
        """Return every request for a refund of the charge that reached the provider, answered or not."""
        entries = self._client.get("/_sim/log").raise_for_status().json()["requests"]
        return [
            entry
            for entry in entries
            if entry["method"] == "POST" and entry["path"] == "/v1/refunds" and charge in str(entry)
        ]

    def arm(self, kind: str, charge: str, **more: Any) -> None:
        """Make the next answer about a charge go wrong in one way."""
        fault = {"kind": kind, "charge": charge, "count": 1, **more}
        self._client.post("/_sim/faults", json=fault).raise_for_status()

    def bend_events(self, charge: str, **how: Any) -> None:
        """Make something happen to every event about a charge on its way to us."""
        knob = {"charge": charge, "count": None, **how}
        self._client.post("/_sim/webhooks/knobs", json=knob).raise_for_status()

    def deliveries_about(self, refund: str) -> list[dict[str, Any]]:
        """Return every delivery of an event whose object is this refund."""
        found = self._client.get("/_sim/webhooks").raise_for_status().json()["deliveries"]
        return [delivery for delivery in found if delivery["body"]["data"]["object"]["id"] == refund]


@dataclass(frozen=True)
class OurRefund:
    """One operation as our own rows have it."""

    operation_id: str
    state: str
    workflow_state: str
    amount_minor_units: int
    currency: str
    processor_reference: str | None
    idempotency_key: str
    attempts: int
    events: str
    ledger_entries: int
    payment_reference: str
    account: str
    reason_code: str

    @property
    def command(self) -> tuple[int, str, str, str]:
        """Return what was asked of the provider, but for which charge: amount, currency, account and reason."""
        return self.amount_minor_units, self.currency, self.account, self.reason_code


def our_refunds(workflow_id: str) -> list[OurRefund]:
    """Return the operations of a workflow with what explains them, in plain SQL."""
    with connection.cursor() as cursor:
        cursor.execute(_OURS, [workflow_id])
        return [OurRefund(*row) for row in cursor.fetchall()]


def our_refund_of(charge: str) -> OurRefund | None:
    """Return the one operation on a charge, None if there is not exactly one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT workflow_id FROM refund_operations WHERE payment_reference = %s", [charge])
        workflows = [row[0] for row in cursor.fetchall()]
    found = [refund for workflow in workflows for refund in our_refunds(workflow)]
    return found[0] if len(found) == 1 else None


def unexplained_rows() -> int:
    """Return how many state rows do not agree with the fold of their events."""
    with connection.cursor() as cursor:
        cursor.execute(_UNEXPLAINED)
        (count,) = cursor.fetchone()
    return int(count)


_OURS = """
    SELECT o.id, o.state, w.state, o.amount_minor_units, o.currency, o.processor_reference, o.idempotency_key,
           (SELECT count(*) FROM gateway_attempts a WHERE a.operation_id = o.id),
           (SELECT string_agg(e.to_state, ' > ' ORDER BY e.state_sequence)
              FROM refund_operation_events e WHERE e.operation_id = o.id),
           (SELECT count(*) FROM ledger_entries l
             WHERE l.kind = 'REFUND' AND l.payment_id = o.payment_id
               AND l.processor_reference = o.processor_reference),
           o.payment_reference, o.account, o.reason_code
      FROM refund_operations o JOIN refund_workflows w ON w.id = o.workflow_id
     WHERE w.id = %s ORDER BY o.created_at
"""
_UNEXPLAINED = """
    SELECT (SELECT count(*) FROM refund_operations o WHERE NOT EXISTS (
                SELECT 1 FROM refund_operation_events e
                 WHERE e.operation_id = o.id AND e.state_sequence = o.state_sequence AND e.to_state = o.state))
         + (SELECT count(*) FROM refund_workflows w WHERE NOT EXISTS (
                SELECT 1 FROM refund_workflow_events e
                 WHERE e.workflow_id = w.id AND e.state_sequence = w.state_sequence AND e.to_state = w.state))
"""
