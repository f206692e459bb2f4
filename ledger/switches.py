"""Reads and turns switches. Turning one is evidence, like every decision."""

from datetime import datetime
from typing import Final

from django.db import transaction

from ledger.actors import Actor
from ledger.models import Switch
from ledger.outbox import append_audit_event

GATEWAY_WRITES: Final = (
    "gateway_writes"  # off: nothing is sent to a payment provider; what is in flight is looked up
)
SWITCHES: Final = (GATEWAY_WRITES,)


class UnknownSwitchError(ValueError):
    """If you see this, there is no switch of that name; ``SWITCHES`` lists them."""


def is_on(name: str) -> bool:
    """Say whether a switch is on; one that was never turned is."""
    if name not in SWITCHES:
        raise UnknownSwitchError(name)
    return not Switch.objects.filter(name=name, is_on=False).exists()


def turn(name: str, *, on: bool, reason: str, actor: Actor, now: datetime) -> None:
    """Turn a switch and keep who did it and why; turning it to where it stands is recorded too."""
    if name not in SWITCHES:
        raise UnknownSwitchError(name)
    with transaction.atomic():
        Switch.objects.update_or_create(
            name=name,
            defaults={"is_on": on, "reason": reason[:200], "changed_by": actor.id, "changed_at": now},
        )
        append_audit_event(
            topic=f"switch.{'on' if on else 'off'}",
            subject=name,
            payload={"actor": {"type": str(actor.type), "id": actor.id}, "reason": reason[:200]},
            now=now,
        )
