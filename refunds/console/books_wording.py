"""Sentences about the books: what kind of difference it is, and why something was not done. Pure."""

from typing import Final

ABOUT_BOOKS: Final = {
    "PAYMENT_FROZEN": "More of this payment is gone than was captured. Nothing of it is refunded until a person "
    "has looked.",
    "MISSING_IN_SETTLEMENT": "The settlement reports reach further than this refund and do not have it.",
    "MISSING_AT_PROVIDER": "The provider's complete list does not have this refund of ours.",
    "MISSING_OURS": "The provider or a settlement report has a refund that our books do not have.",
    "AMOUNT_DIFFERS": "The books tell different amounts of one refund.",
    "CURRENCY_DIFFERS": "The books tell different currencies of one refund.",
    "STATUS_DIFFERS": "The books tell different outcomes of one refund.",
    "UNKNOWN_OPERATION_ID": "A refund names an operation that this payment does not have.",
    "DUPLICATE_FOR_OPERATION": "More than one refund stands for one operation: somebody may have been paid twice.",
    "FAILED_BUT_SETTLED": "Our refund moved no money as far as we know, and a settlement report says that it did.",
    "COMPLETED_BUT_RETURNED": "Our refund stands, and a settlement report says that the money came back.",
    "DISPUTE_MISSING_OURS": "A settlement report has a dispute that our books do not have.",
    "REPORTS_DISAGREE": "Two settlement reports tell one transaction differently.",
}
NOT_DONE_ABOUT_BOOKS: Final = {
    "STILL_OVERDRAWN": "The facts still say that more is gone than was captured. They must change first: a dispute "
    "is won, or a refund fails.",
    "BOOKS_CHANGED": "A newer comparison found something else than what you saw. Look at the books again.",
    "NO_SUCH_CASE": "There is no such case.",
}
EXPLAINED_REASONS: Final = (
    ("BOOKS_CORRECTED", "The wrong book was corrected at its source"),
    ("TIMING", "The books were written at different times, and agree now"),
    ("FEE_OR_CONVERSION", "A fee or a conversion of currencies explains it"),
    ("KNOWN_MANUAL_REFUND", "Somebody refunded by hand, and it is accounted for"),
    ("OTHER", "Another reason, given in the note"),
)
RELEASE_REASONS: Final = (
    ("DISPUTE_ENDED", "The dispute ended in the merchant's favour"),
    ("REFUND_FAILED", "A refund failed, so the money is back"),
    ("RECORDS_CORRECTED", "The payment records were wrong and were corrected"),
    ("OTHER", "Another reason, given in the note"),
)
EXPLAIN_EFFECT: Final = (
    "The case is closed with your reason. No book is changed; the next comparison opens a new case only if the "
    "facts differ from what is shown here."
)
RELEASE_EFFECT: Final = (
    "Refunds of this payment go on, each with its own approval. It is refused while the facts still say that more "
    "is gone than was captured."
)
