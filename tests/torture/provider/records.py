"""What the provider keeps: charges, refunds, kept answers and the calls that came in. Minor units, aware times."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta

KEY_RETENTION = timedelta(hours=24)  # docs.stripe.com/api/idempotent_requests: pruned after that
NO_MONEY = frozenset({"failed", "canceled"})
ANY_BODY = "*"  # the same body as before, whatever it was: it was sent in a past that the rows forgot


@dataclass(slots=True)
class Charge:
    """One captured charge; minor units."""

    reference: str
    amount: int
    currency: str
    disputed: bool = False


@dataclass(slots=True)
class BookedRefund:
    """One refund, and every status that it ever had."""

    reference: str
    operation_id: str | None
    charge: str
    amount: int
    currency: str
    status: str
    at: datetime
    history: list[str] = field(default_factory=list)
    by_somebody: bool = False  # carries an operation's id, and that operation did not send it

    @property
    def unexpected(self) -> bool:
        """Say whether no answer to a call of ours can have told of it: it came alive again, or others made it."""
        return self.by_somebody or not NO_MONEY.isdisjoint(self.history)

    @property
    def live(self) -> bool:
        """Say whether its money is back or on its way."""
        return self.status not in NO_MONEY

    def become(self, status: str) -> None:
        """Change its status; the history keeps the ones before."""
        self.status = status
        self.history.append(status)

    def as_json(self) -> dict[str, object]:
        """Return the refund as the API shows it."""
        shown: dict[str, object] = {
            "id": self.reference,
            "object": "refund",
            "amount": self.amount,
            "charge": self.charge,
            "created": int(self.at.timestamp()),
            "currency": self.currency,
            "metadata": {"refund_operation_id": self.operation_id} if self.operation_id else {},
            "payment_intent": None,
            "status": self.status,
        }
        if not self.live:
            shown["failure_reason"] = "expired_or_canceled_card"
        return shown


@dataclass(slots=True)
class Answer:
    """An HTTP answer; None as status is a connection that ended without one."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: object, status: int = 200) -> "Answer":
        """Return a JSON answer."""
        return cls(status, json.dumps(value).encode())

    @classmethod
    def error(cls, status: int, kind: str, code: str | None = None) -> "Answer":
        """Return an error envelope (docs.stripe.com/api/errors)."""
        error = {"type": kind, "message": "as ordered"} | ({"code": code} if code else {})
        return cls.of({"error": error}, status)


@dataclass(slots=True)
class Kept:
    """What a key stands for: the first body under it, when that came, and its answer once there is one."""

    body: str
    first_at: datetime
    answer: Answer | None


@dataclass(slots=True)
class Submission:
    """One POST as the provider's network saw it. ``ambiguous``: the sender cannot tell whether it executed."""

    at: datetime
    key: str
    body: str
    operation_id: str
    ambiguous: bool
    status: int | None = None
