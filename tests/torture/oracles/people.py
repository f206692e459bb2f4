"""What people are told, and what the desk takes from strangers."""

from tests.torture.database import Rows
from tests.torture.oracles.watch import Watch
from tests.torture.provider.book import Provider

Found = list[tuple[str, str]]


def messages_claim_no_more(rows: Rows, provider: Provider, _watch: Watch) -> Found:
    """I6: a receipt is owed only for a refund that the provider's book once had as succeeded."""
    found = []
    completed = {event["operation_id"] for event in rows.operation_events if event["to_state"] == "COMPLETED"}
    for row in rows.notifications:
        topic, _, subject = row["logical_event_id"].partition(":")
        if topic == "refund.completed":
            paid = any("succeeded" in one.history for one in provider.of_operation(subject))
            if not paid or subject not in completed:
                found.append(("MESSAGE_CLAIMS_TOO_MUCH", row["logical_event_id"]))
        if topic == "refund.returned" and not any(not one.live for one in provider.of_operation(subject)):
            found.append(("MESSAGE_CLAIMS_TOO_MUCH", row["logical_event_id"]))
        if topic == "refund.rejected" and any(one.live for one in provider.of_operation(subject)):
            found.append(("MESSAGE_CLAIMS_TOO_MUCH", row["logical_event_id"]))
    return found


def only_signed_events(rows: Rows, _provider: Provider, watch: Watch) -> Found:
    """A delivery without a good signature leaves no row."""
    kept = {row["event_id"] for row in rows.webhooks}
    return [("ONLY_SIGNED_EVENTS", event) for event in sorted(kept & watch.forged_events)]
