"""Where the money is, by the provider's book: paid once, never called unpaid, reserved while it may be on its way."""

from datetime import datetime
from typing import Any

from refunds.evidence.remaining import conservation_of
from tests.torture.database import Rows
from tests.torture.oracles.watch import ABANDONED, IN_FLIGHT, MOST_EXECUTIONS, SAFE_RESEND, Watch, moment
from tests.torture.provider.book import Provider
from tests.torture.provider.records import BookedRefund

Found = list[tuple[str, str]]
BELIEFS: dict[tuple[object, ...], int] = {}  # what the product believes about rows like these
_NOT_EXECUTED = frozenset({"NOT_EXECUTED", "REFUSED"})


def one_refund_per_operation(_rows: Rows, provider: Provider, _watch: Watch) -> Found:
    """I1: one operation has at most one refund at the provider."""
    ids = [one.operation_id for one in provider.refunds if one.operation_id is not None]
    return [("ONE_REFUND_PER_OPERATION", one) for one in sorted(set(ids)) if ids.count(one) > 1]


def abandoned_means_unpaid(rows: Rows, provider: Provider, _watch: Watch) -> Found:
    """A lost answer is unknown and never failed: what the provider pays, or still will, was not abandoned here."""
    found = []
    for row in rows.operations:
        if row["state"] not in ABANDONED or _said_by_people(rows, row):
            continue
        live = [
            one.reference for one in provider.of_operation(row["id"]) if _known_alive(one, rows, provider)
        ]
        if live or provider.will_book(row["id"]):
            found.append(("ABANDONED_BUT_PAID", f"{row['id']} is {row['state']}, provider has {live}"))
        sent = [one for one in provider.of_operation(row["id"]) if not one.by_somebody]
        if row["state"] == "CANCELLED" and sent:
            found.append(("CANCELLED_BUT_SENT", row["id"]))
    return found


def _known_alive(refund: BookedRefund, rows: Rows, provider: Provider) -> bool:
    """Say whether money is back or on its way; what nobody could expect counts once the provider has told of it."""
    if not (refund.live and refund.unexpected):
        return refund.live
    waits = any(row["outcome"] == "RECEIVED" for row in rows.webhooks)
    return not (waits or refund.reference in map(_named_by, provider.events))


def _named_by(event: dict[str, Any]) -> str:
    return str(event["data"]["object"]["id"])


def _said_by_people(rows: Rows, operation: dict[str, Any]) -> bool:
    """Say whether two people gave it up by what they saw: then it is theirs to be wrong, until the provider tells."""
    newest = max(
        (one for one in rows.operation_events if one["operation_id"] == operation["id"]),
        key=lambda one: one["id"],
    )
    return bool(operation["state"] == "CANCELLED" and newest["actor_type"] == "STAFF")


def completed_means_paid(rows: Rows, provider: Provider, _watch: Watch) -> Found:
    """COMPLETED comes from the object itself: ours, of this amount, and at some time succeeded."""
    found = []
    for row in rows.operations:
        if row["state"] != "COMPLETED":
            continue
        mine = [
            one
            for one in provider.of_operation(row["id"])
            if one.reference == row["processor_reference"] and "succeeded" in one.history
        ]
        same = any(
            (one.amount, one.currency.upper()) == (row["amount_minor_units"], row["currency"]) for one in mine
        )
        if not same:
            found.append(("COMPLETED_UNPROVEN", f"{row['id']} claims {row['processor_reference']}"))
    return found


def reserved_while_open(rows: Rows, provider: Provider, watch: Watch) -> Found:
    """I1: what is not abandoned stays reserved; nobody may be promised money that is already spoken for."""
    found = []
    for payment in rows.payments:
        mine = [row for row in rows.operations if row["payment_id"] == payment["id"]]
        if not mine:
            continue
        captured = sum(
            row["amount_minor_units"]
            for row in rows.entries
            if row["payment_id"] == payment["id"] and row["kind"] == "CAPTURE"
        )
        spoken_for = sum(row["amount_minor_units"] for row in mine if row["state"] not in ABANDONED)
        believed = _believed(rows, payment, mine)
        if believed > captured - spoken_for:
            found.append(("RESERVED_WHILE_OPEN", f"payment offers {believed}, {spoken_for} is spoken for"))
        live = sum(
            one.amount
            for one in provider.refunds
            if one.charge == payment["processor_reference"]
            and one.operation_id is not None
            and _known_alive(one, rows, provider)
        )
        by_people = any(_said_by_people(rows, row) for row in mine)
        if live > spoken_for and not (watch.foreign_money or by_people):
            found.append(("PAID_BUT_NOT_RESERVED", f"{live} at the provider, {spoken_for} here"))
    return found


def _believed(rows: Rows, payment: dict[str, Any], mine: list[dict[str, Any]]) -> int:
    """Return what the product's own arithmetic offers of a payment; the same rows are asked about once."""
    about = [row for row in rows.entries if row["payment_id"] == payment["id"]]
    references = {row["processor_reference"] for row in about}
    key = (
        payment["frozen_at"] is None,
        tuple(sorted((row["kind"], row["status"], row["amount_minor_units"]) for row in about)),
        tuple(
            (row["state"], row["amount_minor_units"], row["processor_reference"] in references)
            for row in mine
        ),
    )
    if key not in BELIEFS:
        BELIEFS[key] = conservation_of(payment["id"]).remaining
    return BELIEFS[key]


def absence_was_proven(rows: Rows, provider: Provider, _watch: Watch) -> Found:
    """Absence needs the whole rule: a complete list, the horizon passed, no 500, the key still safe."""
    found = []
    for check in rows.checks:
        if check["verdict"] != "CONFIRMED_ABSENT":
            continue
        at, operation_id = moment(check["at"]), check["operation_id"]
        assert at is not None
        problem = _why_unproven(rows, provider, operation_id, at)
        if problem is not None:
            found.append(("ABSENCE_PROVEN", f"{operation_id} check {check['number']}: {problem}"))
    return found


def _why_unproven(rows: Rows, provider: Provider, operation_id: str, at: datetime) -> str | None:
    answers = {row["attempt_id"]: row for row in rows.responses}
    attempts = [
        (moment(row["started_at"]), answers.get(row["id"]))
        for row in rows.attempts
        if row["operation_id"] == operation_id and moment(row["started_at"]) <= at  # type: ignore[operator]
    ]
    doubtful = [
        (started, answer)
        for started, answer in attempts
        if answer is None or answer["answer_class"] not in _NOT_EXECUTED
    ]
    if any(answer is not None and answer["http_status"] == 500 for _, answer in doubtful):
        return "an attempt ended in a 500"
    if any(started is not None and at < started + IN_FLIGHT for started, _ in doubtful):
        return "a call may still be executing"
    if any(started is not None and at >= started + SAFE_RESEND for started, _ in attempts[:1]):
        return "the key is no longer safe"
    if any(one.at <= at for one in provider.of_operation(operation_id)):
        return "the provider has it"
    charge = next(row["payment_reference"] for row in rows.operations if row["id"] == operation_id)
    if not any(name == charge and read <= at for read, name in provider.lists_read):
        return "no complete list was ever read"
    return None


def refusals_were_proven(rows: Rows, provider: Provider, _watch: Watch) -> Found:
    """REJECTED straight from an answer needs that no earlier call may have executed; at most five may ever go."""
    found = []
    for event in rows.operation_events:
        if (event["from_state"], event["to_state"]) != ("SUBMITTED", "REJECTED"):
            continue
        operation_id, at = event["operation_id"], moment(event["at"])
        calls = [one for one in provider.submissions if one.operation_id == operation_id and one.at <= at]  # type: ignore[operator]
        if any(one.ambiguous for one in calls[:-1]):
            found.append(("REFUSAL_PROVEN", f"{operation_id}: an earlier call may have executed"))
        if calls and calls[-1].status is not None and calls[-1].status >= 500:
            found.append(("REFUSAL_PROVEN", f"{operation_id}: {calls[-1].status} refuses nothing"))
    for row in rows.operations:
        sent = [one for one in provider.submissions if one.operation_id == row["id"] and one.ambiguous]
        if len(sent) > MOST_EXECUTIONS:
            found.append(("FIVE_ATTEMPTS", f"{row['id']}: {len(sent)}"))
    return found
