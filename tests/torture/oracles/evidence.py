"""Which recorded evidence lets an operation enter a state: written from the design's table, not from the code."""

from collections.abc import Callable
from typing import Any

from tests.torture.database import Rows
from tests.torture.oracles.watch import Watch
from tests.torture.provider.book import Provider

Found = list[tuple[str, str]]
# state -> the answer and the verdict, of the very moment, of which one must stand beside the event
_NEEDS = {
    "COMPLETED": ("ACCEPTED", "CONFIRMED_COMPLETED"),
    "PROVIDER_PENDING": ("PENDING", "CONFIRMED_PENDING"),
    "FAILED": ("FAILED", "CONFIRMED_FAILED"),
    "REJECTED": ("REFUSED", "CONFIRMED_REJECTED"),
    "CONFIRMED_ABSENT": ("", "CONFIRMED_ABSENT"),
}


def states_follow_evidence(rows: Rows, _provider: Provider, _watch: Watch) -> Found:
    """Each state of an operation was entered with the evidence that the design asks for, recorded with the event."""
    found: Found = []
    for operation in rows.operations:
        about = _About(rows, operation["id"])
        for event in about.events:
            problem = about.why_not(event)
            if problem is not None:
                found.append(("STATE_FOLLOWS_EVIDENCE", f"{operation['id']} {event['to_state']}: {problem}"))
        begun = sum(event["to_state"] == "SUBMITTED" for event in about.events)
        if begun != len(about.attempts):
            found.append(
                (
                    "STATE_FOLLOWS_EVIDENCE",
                    f"{operation['id']}: {begun} begun, {len(about.attempts)} attempts",
                )
            )
    return found


class _About:
    """Everything that is recorded about one operation."""

    def __init__(self, rows: Rows, operation_id: str) -> None:
        def mine(one: dict[str, Any]) -> bool:
            return bool(one["operation_id"] == operation_id)

        self.events = [one for one in rows.operation_events if mine(one) and one["kind"] == "TRANSITION"]
        self.attempts = [one for one in rows.attempts if mine(one)]
        self.checks = [one for one in rows.checks if mine(one)]
        ids = {one["id"] for one in self.attempts}
        self.answers = {one["attempt_id"]: one for one in rows.responses if one["attempt_id"] in ids}

    def why_not(self, event: dict[str, Any]) -> str | None:
        """Return what is missing beside an event, or None."""
        to, at = event["to_state"], event["at"]
        if to in _NEEDS:
            answer, verdict = _NEEDS[to]
            answered = any(
                one["received_at"] == at and one["answer_class"] == answer for one in self.answers.values()
            )
            checked = any(one["at"] == at and one["verdict"] == verdict for one in self.checks)
            return None if answered or checked else f"no {answer or verdict} of {at}"
        rule: Callable[[dict[str, Any]], str | None] | None = {
            "CREATED": self._nothing_sent,
            "CANCELLED": self._given_up,
        }.get(to)
        return rule(event) if rule is not None else None

    def _nothing_sent(self, event: dict[str, Any]) -> str | None:
        before = [one for one in self.attempts if one["started_at"] <= event["at"]]
        answers = [self.answers.get(one["id"]) for one in before]
        executed = [one for one in answers if one is None or one["answer_class"] != "NOT_EXECUTED"]
        return f"{len(executed)} attempts may have been executed" if executed else None

    def _given_up(self, event: dict[str, Any]) -> str | None:
        """Abandoned by the desk alone only if nothing ever reached the provider; people may say more."""
        by_people = event["from_state"] == "MANUAL_REVIEW" and event["actor_type"] == "STAFF"
        return None if by_people else self._nothing_sent(event)
