"""The closed words of a contract. Pure."""

from enum import StrEnum


class KeyTransport(StrEnum):
    """Where the idempotency key travels."""

    HEADER = "HEADER"
    BODY = "BODY"


class RetentionMeaning(StrEnum):
    """What the stated retention of a key is."""

    FLOOR = "FLOOR"  # kept at least so long
    FIXED = "FIXED"  # kept exactly so long


class AfterExpiry(StrEnum):
    """What a key does once its retention is over."""

    EXECUTES_AGAIN = "EXECUTES_AGAIN"
    UNKNOWN = "UNKNOWN"


class ReplayResult(StrEnum):
    """What the same request under the same key is answered with."""

    FIRST_ANSWER = "FIRST_ANSWER"  # word for word
    LATEST_STATE = "LATEST_STATE"  # of the object that the first one made
    EXECUTES_FAILED_AGAIN = "EXECUTES_FAILED_AGAIN"


class Compared(StrEnum):
    """Which of the parameters must be the same under one key."""

    ALL = "ALL"
    SOME = "SOME"
    UNKNOWN = "UNKNOWN"


class Cached(StrEnum):
    """Whether an answer is kept under the key and comes again."""

    CACHED = "CACHED"
    NOT_CACHED = "NOT_CACHED"
    UNKNOWN = "UNKNOWN"


class WithoutSignal(StrEnum):
    """What to do when an answer does not say whether it may be tried again."""

    DECIDE_BY_STATUS = "DECIDE_BY_STATUS"
    DO_NOT_RETRY = "DO_NOT_RETRY"


class Consistency(StrEnum):
    """When a surface shows what was made."""

    STRONG = "STRONG"  # at once
    EVENTUAL = "EVENTUAL"  # within the stated lag
    BATCH = "BATCH"  # in a report
    UNKNOWN = "UNKNOWN"


class Guard(StrEnum):
    """What still stops a second refund when the key no longer does."""

    NONE = "NONE"
    CAP = "CAP"  # never more than is left of the payment
    INVOICE_ID = "INVOICE_ID"  # the same id is refused


class AmountUnit(StrEnum):
    """How amounts are written."""

    MINOR_INTEGER = "MINOR_INTEGER"
    DECIMAL_TEXT = "DECIMAL_TEXT"


class Ordering(StrEnum):
    """In what order events come."""

    NONE = "NONE"
    UNKNOWN = "UNKNOWN"
