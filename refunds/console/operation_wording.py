"""The console's sentences about operations that people own: their evidence, and why a step is refused. Pure."""

from typing import Final

SOURCES: Final = (
    ("DASHBOARD", "The provider's dashboard"),
    ("REQUEST_LOG", "The provider's log of our requests"),
    ("SUPPORT_ANSWER", "An answer of the provider's support"),
    ("REPORT", "A report of the provider"),
)
STATEMENTS: Final = (
    ("PROVIDER_HAS_NO_REFUND", "The provider has no refund for this operation"),
    ("PROVIDER_NEVER_GOT_IT", "The provider's log shows no request with this idempotency key"),
    ("PROVIDER_REFUSED_IT", "The provider's log shows that it refused the request"),
    ("OTHER", "Another statement, given in the note"),
)
CONFIRM_REASONS: Final = (
    ("EVIDENCE_CHECKED", "I looked at the provider myself and found the same"),
    ("EVIDENCE_CONVINCES", "The attached evidence leaves no doubt"),
    ("OTHER", "Another reason, given in the note"),
)
DECLINE_REASONS: Final = (
    ("EVIDENCE_ABOUT_SOMETHING_ELSE", "The evidence is about another refund or key"),
    ("EVIDENCE_INCONCLUSIVE", "The evidence does not show that nothing was executed"),
    ("REFUND_FOUND", "I found the refund at the provider"),
    ("OTHER", "Another reason, given in the note"),
)
STANDS_REASONS: Final = (
    ("STANDS_ONCE", "The money went back once, and nothing else is open"),
    ("PAID_TWICE_KEPT", "The money went back more than once, and the customer keeps it"),
    ("PAID_TWICE_SETTLED", "The money went back more than once, and that was settled outside this desk"),
    ("OTHER", "Another reason, given in the note"),
)
ABOUT_OPERATIONS: Final = {
    "NO_REFUND_STANDS": "No refund of this request was completed, so it cannot be closed as completed.",
    "NO_SUCH_OPERATION": "This operation is not part of this case.",
    "NOT_WITH_PEOPLE": "This operation is not in manual review, so nobody can do this with it now.",
    "REFERENCE_INVALID": "Enter the provider's id of the refund, such as re_1AbC; letters, digits, _ and - only.",
    "REFERENCE_KNOWN": "The provider's reference of this refund is known, so its outcome can be looked up: use Check "
    "again.",
    "PROVIDER_TOLD_OF_REFUND": "The provider itself told of a refund of this operation, so it cannot be given up.",
    "EVENT_NOT_READ_YET": "The provider sent an event that may be about this refund and was not read yet. Try again "
    "in a few minutes.",
    "STILL_IN_FLIGHT": "The last call to the provider may still be running. Wait a while, then use Check again.",
    "LOOK_FIRST": "The provider was not asked about this refund within the last hour, or only while the last call "
    "might still have been running. Use Check again first.",
    "REFERENCE_NOT_LOOKED_UP": "A reference was given that the provider was not asked about since. Use Check again "
    "first.",
    "LOOK_INCONCLUSIVE": "When the provider was last asked, its list could not be read, or it did not speak for "
    "giving the refund up. Use Check again.",
    "PROPOSAL_PENDING": "A colleague's proposal about this operation waits for a second person.",
    "PROPOSAL_OVER": "This proposal was decided, or the operation changed, while you were looking.",
    "PROPOSED_BY_YOU": "You proposed this, so somebody else must confirm it.",
    "PROPOSAL_STALE": "This proposal waited for over a day, so the evidence must be gathered again.",
    "PROPOSAL_CHANGED": "The operation or its evidence changed while you were looking. Look at it again.",
    "EVIDENCE_KIND_UNKNOWN": "Choose where you looked.",
    "EVIDENCE_REFERENCE_INVALID": "Enter the provider's id of what you saw, at most 100 letters and digits.",
    "EVIDENCE_FROM_THE_FUTURE": "The time when you looked cannot lie in the future.",
    "EVIDENCE_BEFORE_THE_CALL": "You looked before the last call to the provider was surely over, so that says "
    "nothing about it. Look again.",
    "EVIDENCE_REQUIRED": "Copy what the provider says, word for word.",
    "EVIDENCE_TOO_LONG": "What the provider says is too long: copy the part that matters, at most 2000 characters.",
    "EVIDENCE_NOT_READABLE": "What the provider says contains hidden control characters.",
    "EVIDENCE_HAS_CARD_NUMBER": "What the provider says contains a card number. Leave it out.",
    "EVIDENCE_HAS_SECURITY_CODE": "What the provider says contains the security code of a card. Leave it out.",
}
# What a vote is refused for, said about a proposal instead of a refund's approval.
OF_A_PROPOSAL: Final = {
    "NOT_PENDING": "PROPOSAL_OVER",
    "ALREADY_VOTED": "PROPOSAL_OVER",
    "OWN_REQUEST": "PROPOSED_BY_YOU",
    "FINGERPRINT_CHANGED": "PROPOSAL_CHANGED",
    "EXPIRED": "PROPOSAL_STALE",
}


def statement_text(code: str) -> str:
    """Return what a proposal states about its operation."""
    return dict(STATEMENTS).get(code, code)


def source_text(code: str) -> str:
    """Return where a person looked."""
    return dict(SOURCES).get(code, code)
