"""What an adapter concludes by itself, where the provider said nothing usable. Pure."""

from enum import StrEnum


class AdapterCode(StrEnum):
    """Upper-case, so that no provider code can be mistaken for one."""

    # Before sending: nothing left this process.
    KEY_NOT_USABLE = "KEY_NOT_USABLE"
    ACCOUNT_UNSUPPORTED = "ACCOUNT_UNSUPPORTED"
    PAYMENT_REFERENCE_UNSUPPORTED = "PAYMENT_REFERENCE_UNSUPPORTED"
    AMOUNT_NOT_REPRESENTABLE = "AMOUNT_NOT_REPRESENTABLE"
    # On the wire.
    CONNECT_FAILED = "CONNECT_FAILED"
    ANSWER_TIMED_OUT = "ANSWER_TIMED_OUT"
    CONNECTION_LOST = "CONNECTION_LOST"
    # In the answer.
    BODY_UNPARSABLE = "BODY_UNPARSABLE"
    OBJECT_NOT_OURS = "OBJECT_NOT_OURS"
    STATUS_UNRECOGNISED = "STATUS_UNRECOGNISED"
    LIST_NOT_CONCLUSIVE = "LIST_NOT_CONCLUSIVE"
