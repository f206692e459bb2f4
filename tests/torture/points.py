"""What can go wrong and where: the kinds of boundary of a run, and every fault that each kind can meet. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """A boundary that a run crosses; each crossing has a number."""

    SQL = "sql"  # a statement inside a transaction
    READ = "read"  # a statement of its own that writes nothing
    WRITE = "write"  # a statement of its own that writes, and so commits itself
    COMMIT = "commit"
    POST = "post"  # a submission at the provider
    GET = "get"  # a look-up at the provider
    MAIL = "mail"


class Fault(StrEnum):
    """What happens at a boundary. A crash is the death of the process: nothing of it runs any more."""

    CRASH_BEFORE = "crash_before"
    CRASH_AFTER = "crash_after"
    SERIALIZATION_FAILURE = "serialization_failure"  # 40001, the transaction is over
    LOCK_TIMEOUT = "lock_timeout"  # 55P03
    CONNECTION_LOST = "connection_lost"  # nothing was committed, and the caller sees an error
    ACK_LOST = "ack_lost"  # committed, and the caller sees an error

    NOT_CONNECTED = "not_connected"
    LOST_BEFORE = "lost_before"  # sent, never arrived
    LOST_AFTER = "lost_after"  # booked, the answer never arrived
    TIMED_OUT = "timed_out"  # booked, the answer came too late
    STILL_RUNNING = "still_running"  # no answer; booked minutes later, inside the in-flight horizon
    CACHED_500 = "cached_500"
    CACHED_500_BOOKED = "cached_500_booked"
    CACHED_500_LATER = "cached_500_later"  # the effect appears hours after the 500
    BAD_GATEWAY = "bad_gateway"  # 502 in front of the provider, nothing was executed
    BAD_GATEWAY_BOOKED = "bad_gateway_booked"
    IN_USE_409 = "in_use_409"
    LIMITED_429 = "limited_429"  # a limiter says so: nothing was executed
    LOCKED_429 = "locked_429"  # without the limiter's header
    UNPARSABLE = "unparsable"  # booked; the body is not JSON
    SLOW = "slow"  # booked and answered, after recovery has given the answer up
    PENDING = "pending"
    REQUIRES_ACTION = "requires_action"
    FAILED = "failed"  # a refund object that moved no money
    DISPUTED = "disputed"  # refused for good

    NO_ANSWER = "no_answer"  # one look-up request without an answer
    UNREACHABLE = "unreachable"  # no look-up is answered for an hour
    SERVER_ERROR = "server_error"
    NOT_FOUND = "not_found"  # 404 for what exists: another account or mode answers the same
    RATE_LIMITED = "rate_limited"
    GARBLED = "garbled"

    NOT_DELIVERED = "not_delivered"  # the mail server says: try again


_F = Fault
_DATABASE: Final = (_F.CRASH_BEFORE, _F.SERIALIZATION_FAILURE, _F.LOCK_TIMEOUT)
FAULTS: Final[dict[Kind, tuple[Fault, ...]]] = {
    Kind.SQL: _DATABASE,
    Kind.READ: _DATABASE,
    Kind.WRITE: (*_DATABASE, _F.CRASH_AFTER, _F.ACK_LOST),
    Kind.COMMIT: (
        _F.CRASH_BEFORE,
        _F.CRASH_AFTER,
        _F.ACK_LOST,
        _F.CONNECTION_LOST,
        _F.SERIALIZATION_FAILURE,
    ),
    Kind.POST: (
        _F.CRASH_BEFORE,
        _F.CRASH_AFTER,
        _F.NOT_CONNECTED,
        _F.LOST_BEFORE,
        _F.LOST_AFTER,
        _F.TIMED_OUT,
        _F.STILL_RUNNING,
        _F.CACHED_500,
        _F.CACHED_500_BOOKED,
        _F.CACHED_500_LATER,
        _F.BAD_GATEWAY,
        _F.BAD_GATEWAY_BOOKED,
        _F.IN_USE_409,
        _F.LIMITED_429,
        _F.LOCKED_429,
        _F.UNPARSABLE,
        _F.SLOW,
        _F.PENDING,
        _F.REQUIRES_ACTION,
        _F.FAILED,
        _F.DISPUTED,
    ),
    Kind.GET: (
        _F.CRASH_BEFORE,
        _F.CRASH_AFTER,
        _F.NO_ANSWER,
        _F.UNREACHABLE,
        _F.SERVER_ERROR,
        _F.NOT_FOUND,
        _F.RATE_LIMITED,
        _F.GARBLED,
    ),
    Kind.MAIL: (_F.CRASH_BEFORE, _F.CRASH_AFTER, _F.NOT_DELIVERED),
}
# Faults that a process does not outlive.
CRASHES: Final = frozenset({_F.CRASH_BEFORE, _F.CRASH_AFTER})
# Faults at which the task ends with an error of the database.
DATABASE_ERRORS: Final = frozenset(
    {_F.SERIALIZATION_FAILURE, _F.LOCK_TIMEOUT, _F.CONNECTION_LOST, _F.ACK_LOST}
)


@dataclass(frozen=True, slots=True)
class Point:
    """One crossing: its number in the run, the step and place in the step, and what was about to happen."""

    number: int
    kind: Kind
    step: str  # "submit_operation[CREATED]"
    place: int  # counted from 1 within the step
    what: str  # "UPDATE refund_operations"

    @property
    def cell(self) -> tuple[str, int, str, str]:
        """Return what makes two crossings the same boundary of the code."""
        return (self.step, self.place, str(self.kind), self.what)


class CrashError(BaseException):
    """The process died here. Not an Exception, so that no handler of the product can outlive it."""
