"""What the newest look at the provider said about one operation."""

from dataclasses import dataclass
from datetime import datetime

from refunds.gateways.port import LIST
from refunds.models import ReconciliationCheck
from refunds.states import CheckVerdict


@dataclass(frozen=True, slots=True)
class Look:
    """One recorded check; ``listed_completely``: the payment's whole list of refunds was read."""

    at: datetime
    verdict: CheckVerdict
    listed_completely: bool


def last_look(operation_id: str) -> Look | None:
    """Return the operation's newest check, or None before the first."""
    newest = ReconciliationCheck.objects.filter(operation_id=operation_id).order_by("-number").first()
    if newest is None:
        return None
    listed = [source for source in newest.sources if source.get("surface") == LIST]
    return Look(
        at=newest.at,
        verdict=CheckVerdict(newest.verdict),
        listed_completely=bool(listed) and all(source.get("complete") is True for source in listed),
    )
