"""Why something that staff asked for was not done; nothing was written then. Pure."""


class StaffStartRefusedError(Exception):
    """If you see this, a refund that staff asked for was not opened; ``code`` says why.

    NOT_ALLOWED, OWN_REQUEST, ORDER_NOT_FOUND, PAYMENT_NOT_FOUND, AMOUNT_INVALID, CURRENCY_MISMATCH,
    REASON_UNKNOWN, NOTE_REQUIRED, NOTE_TOO_LONG, NOTE_NOT_READABLE, NOTE_HAS_CARD_NUMBER, NOTE_HAS_SECURITY_CODE,
    CLIENT_TOKEN_INVALID, CLIENT_TOKEN_REUSED, OLDER_THAN_POLICY, NO_COMPLETED_CAPTURE, CONFLICTING_ROWS,
    DISPUTE_OPEN, DISPUTE_DECIDED, OPEN_OPERATION, NOT_ENOUGH_REMAINING; what stage 3 says of the policy, or the
    adapter of a command that it could never send.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class CaseWorkRefusedError(Exception):
    """If you see this, an action on a case was not done; ``code`` says why.

    NO_SUCH_CASE (or another merchant's), NOT_ALLOWED, OWN_REQUEST, CASE_CLOSED, CLAIMED_BY_ANOTHER, NOT_CLAIMED,
    NOT_IN_REVIEW, ORDER_UNKNOWN, OPERATION_UNRESOLVED, REFUND_STANDS, NO_REFUND_STANDS, FINDING_NOT_VERIFIED,
    CHECK_FAILED, POLICY_UNUSABLE, SOURCE_UNAVAILABLE, NOTHING_TO_LOOK_UP, OUTCOME_UNKNOWN, REASON_REQUIRED,
    NOTE_REQUIRED, NOTE_TOO_LONG, NOTE_NOT_READABLE, NOTE_HAS_CARD_NUMBER, NOTE_HAS_SECURITY_CODE. About the
    books: STILL_OVERDRAWN, BOOKS_CHANGED. About an operation: NO_SUCH_OPERATION,
    REFERENCE_INVALID; what ``cancelling.why_not_cancellable`` gives, PROPOSAL_PENDING, and of the evidence
    EVIDENCE_KIND_UNKNOWN, EVIDENCE_REFERENCE_INVALID, EVIDENCE_FROM_THE_FUTURE, EVIDENCE_BEFORE_THE_CALL,
    EVIDENCE_REQUIRED, EVIDENCE_TOO_LONG, EVIDENCE_NOT_READABLE, EVIDENCE_HAS_CARD_NUMBER,
    EVIDENCE_HAS_SECURITY_CODE.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class KnowledgeRefusedError(Exception):
    """If you see this, something that staff asked for about a house text was not done; ``code`` says why.

    NO_SUCH_TEXT, NOT_ALLOWED, ALREADY_THERE, TOO_MANY_TEXTS, NOT_PENDING, NOT_ACTIVE, OWN_REQUEST,
    FINGERPRINT_CHANGED, NOTE_REQUIRED, NOTE_TOO_LONG, NOTE_NOT_READABLE, NOTE_HAS_CARD_NUMBER,
    NOTE_HAS_SECURITY_CODE.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
