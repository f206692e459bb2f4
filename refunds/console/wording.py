"""The console's sentences: why a person is needed, why a decision is refused, and how long a case waits. Pure.

A code without a sentence is shown as it is: saying less is better than saying something else.
"""

from datetime import timedelta
from typing import Final

from refunds.console.books_wording import ABOUT_BOOKS, NOT_DONE_ABOUT_BOOKS
from refunds.console.operation_wording import ABOUT_OPERATIONS
from refunds.selectors.review_records import ApprovalFacts, CaseEvidence, Lease, Promise

WHY_A_PERSON: Final = {
    **ABOUT_BOOKS,
    "APPROVAL_THRESHOLD": "The amount is above what the policy lets run automatically.",
    "PERSON_REQUIRED": "An earlier approval of this request was voided or the case was reviewed, "
    "so a person must decide.",
    "CUSTOMER_ASKED_PERSON": "The customer asked for a person.",
    "STAFF_REQUESTED": "A member of staff asked for this refund, so others must decide.",
    "COMMAND_REBUILT": "A member of staff rebuilt the command from facts, so others must decide.",
    "SOURCE_UNREADABLE": "The payment records could not be read, so nothing could be decided.",
    "POLICY_MISSING": "No policy version applies to this request, so nothing may be decided automatically.",
    "POLICY_OVERLAP": "More than one policy version applies to this request.",
    "POLICY_UNREADABLE": "The policy version that applies cannot be read.",
    "SCHEMA": "The proposal was malformed, so it was rejected.",
    "ACTION_ALLOWED": "The proposal asked for an action that is not allowed, so it was rejected.",
    "CUSTOMER_AUTHORISED": "The order is not the customer's own according to our records.",
    "POLICY_RULES": "The policy does not allow this refund.",
    "AMOUNT_MATCHES_LEDGER": "The amount or currency does not agree with the ledger.",
    "GUARDRAILS": "The proposal contained unsafe language, so it was rejected.",
    "DISPUTE_OPEN": "The bank is deciding a dispute about one of these charges.",
    "DISPUTE_DECIDED": "The bank has decided a dispute about one of these charges.",
    "STALE_SNAPSHOT": "The payment records are older than the policy allows.",
    "CONFLICTING_ROWS": "The payment records contradict each other.",
    "THREE_OR_MORE_CAPTURES": "The order has three or more completed charges.",
    "CAPTURE_PENDING": "One of the charges is still pending.",
    "ORDER_CURRENCY_DISAGREES": "The order and its charges are in different currencies.",
    "CAPTURES_OF_ONE_PAYMENT": "Both charges belong to one payment.",
    "OPEN_OPERATION": "A refund of one of these charges is already under way.",
    "REFUND_PENDING": "A refund of one of these charges is pending.",
    "REVERSAL_INCOMPLETE": "A reversal of one of these charges is incomplete.",
    "SPLIT_TENDER": "The charges differ and together make up the order's total.",
    "AMOUNT_DRIFT": "The two charges are nearly but not exactly the same amount.",
    "DIFFERENT_AMOUNTS": "The two charges are of different amounts.",
    "UNKNOWN_ORDER_TOTAL": "The order's total is unknown.",
    "TOTAL_DISAGREES": "The order's total agrees with neither one charge nor both.",
    "DIFFERENT_PAYMENT_METHODS": "The two charges were paid with different methods.",
    "OUTSIDE_WINDOW": "A charge is older than the policy looks back.",
    "NO_COMPLETED_CAPTURE": "The charge was not captured, so nothing of it can be refunded.",
    "NOT_ENOUGH_REMAINING": "Less of the charge is left than is to be refunded.",
    "RETURNED_ELSEWHERE": "Money went back through another charge of this order meanwhile.",
    "REFUNDED_ELSEWHERE": "The payment was refunded elsewhere, not by this request.",
    "NOT_PROVEN": "The payment records prove nothing either way.",
    "NOT_FOUND_YET": "The provider's answer was lost, and no refund was found in time. "
    "That does not prove that there is none.",
    "STILL_AMBIGUOUS": "The provider's records could not settle what happened to this refund.",
    "CONFIRMED_FAILED": "The provider accepted this refund and then failed it.",
    "CONFIRMED_REJECTED": "The provider refused this refund.",
    "CONFIRMED_COMPLETED": "The provider shows a refund where none was expected any more.",
    "CONFIRMED_PENDING": "The provider shows a pending refund where none was expected any more.",
    "TWO_REFERENCES": "The provider names a second refund for one operation.",
    "SAFE_WINDOW_ENDED": "The refund was not found, and its key is no longer safe to send again.",
    "CONTRACT_REVIEW_ENDED": "The refund was not found, and our knowledge of the provider is too old to resend it.",
    "PROVIDER_FORBIDS_RETRY": "The provider asked that this refund is not sent again.",
    "PROVIDER_TOLD_OF_REFUND": "The refund was not found, but an event or a settlement of the provider tells of one.",
    "LATE_EFFECT_POSSIBLE": "The provider answered with an error whose effect may still come.",
    "ANSWERED_AS_DONE": "The provider answered that it was done, and the answer could not be read.",
    "ATTEMPTS_EXHAUSTED": "The refund was sent as often as is allowed, and its outcome is still not known.",
    "REQUEST_BODY_CHANGED": "What would be sent differs from what was sent before under the same key.",
    "ANSWER_FAILED": "The provider accepted this refund and then failed it.",
    "ANSWER_REFUSED": "The provider refused this refund.",
}
WHY_NO_DECISION: Final = {
    "CASE_CLOSED": "This case is closed.",
    "RECOVERY_NEEDED": "This case needs an investigation, not an approval. What can be done about it stands under "
    "Work on this case.",
    "NOT_PENDING": "This request is not waiting for a decision.",
    "NOT_ALLOWED": "You may read cases of this merchant, but not decide them.",
    "OWN_REQUEST": "You made this request, so somebody else must decide it.",
    "ALREADY_VOTED": "You have decided this request already; it needs a second person.",
}
_NOT_RECORDED: Final = "Your decision was not recorded."
NOTE_REFUSED: Final = {
    "NOTE_REQUIRED": "Write a note.",
    "NOTE_TOO_LONG": "The note is too long.",
    "NOTE_NOT_READABLE": "The note contains hidden control characters.",
    "NOTE_HAS_CARD_NUMBER": "The note contains a card number. Give the card's last four digits only.",
    "NOTE_HAS_SECURITY_CODE": "The note contains the security code of a card. Leave it out.",
}
WHY_REFUSED: Final = WHY_NO_DECISION | {
    **NOTE_REFUSED,
    "CASE_CLOSED": "This case is closed: somebody decided it, or the request changed, while you were looking.",
    "NOT_PENDING": "This request is no longer waiting for a decision: somebody decided it, or it changed, "
    "while you were looking.",
    "FINGERPRINT_CHANGED": "The command changed while you were looking. Compare the charges again and decide "
    "about the command that is shown now.",
    "CLAIMED_BY_ANOTHER": "A colleague works on this case. You can decide it once they give it back, or once their "
    "20 minutes are over.",
    "EXPIRED": "This approval has expired, so the evidence must be read again first.",
}


WHY_NOT_DONE: Final = {
    **NOTE_REFUSED,
    **ABOUT_OPERATIONS,
    **NOT_DONE_ABOUT_BOOKS,
    "CASE_CLOSED": "This case is closed.",
    "NOT_ALLOWED": "You may read cases of this merchant, but not work on them.",
    "OWN_REQUEST": "This is a request of your own, so somebody else must work on it.",
    "CLAIMED_BY_ANOTHER": "A colleague works on this case. You can take it over once their 20 minutes are over.",
    "NOT_CLAIMED": "Claim this case first, so that nobody else works on it at the same time.",
    "NOT_IN_REVIEW": "The request is not in manual review, so nobody can do this with it now.",
    "ORDER_UNKNOWN": "The customer has not said yet which order the request is about.",
    "OPERATION_UNRESOLVED": "The outcome of a refund operation is not known yet. The request stays with people until "
    "it is.",
    "REFUND_STANDS": "A refund of this request was completed, so it cannot go on or end without one.",
    "FINDING_NOT_VERIFIED": "The payment records do not prove that a refund is due, so no command can be built from "
    "them.",
    "CHECK_FAILED": "A check refuses the rebuilt command: the policy or the records do not allow it.",
    "POLICY_UNUSABLE": "No single policy version applies, so no command can be built.",
    "SOURCE_UNAVAILABLE": "The payment records cannot be read just now. Try again later.",
    "NOTHING_TO_LOOK_UP": "The outcome of this operation is not in doubt, so there is nothing to look up.",
    "REASON_REQUIRED": "Choose a reason.",
}


def why_not_done(code: str) -> str:
    """Return why an action was not done; it always says that nothing was changed."""
    return f"{WHY_NOT_DONE.get(code, f'This was refused ({code}).')} Nothing was changed."


def why_not_possible(code: str) -> str:
    """Return why an action is not offered now, or an empty text."""
    return WHY_NOT_DONE.get(code, code)


def due_text(promise: Promise | None) -> str:
    """Return how a case stands to its promise: ``1 d 2 h left``, ``2 h late``; empty without one."""
    if promise is None:
        return ""
    return f"{waiting_text(promise.late)} late" if promise.is_late else f"{waiting_text(promise.left)} left"


def claimed_text(lease: Lease | None) -> str:
    """Return who works on a case; a lease that ran out counts as nobody's."""
    if lease is None or not lease.runs:
        return "nobody"
    return "you" if lease.is_mine else lease.holder


def why_a_person(code: str) -> str:
    """Return why a case of this reason code needs a person."""
    return WHY_A_PERSON.get(code, f"Reason code: {code}." if code else "No reason was recorded.")


def why_no_decision(code: str) -> str:
    """Return why the reviewer cannot decide the case now, or an empty text."""
    return WHY_NO_DECISION.get(code, code)


def why_refused(code: str) -> str:
    """Return why a decision was refused; it always says that nothing was recorded."""
    return f"{WHY_REFUSED.get(code, f'The decision was refused ({code}).')} {_NOT_RECORDED}"


def waiting_text(waiting: timedelta) -> str:
    """Return a waiting time in its two largest units: ``3 d 4 h``, ``2 h 10 min``, ``less than a minute``."""
    minutes = max(0, int(waiting.total_seconds() // 60))
    days, hours, minutes = minutes // 1440, minutes % 1440 // 60, minutes % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else "less than a minute"


def effect_of_approving(approval: ApprovalFacts) -> str:
    """Return what one more approval does."""
    number = approval.votes + 1
    if number < approval.needed:
        what = "Nothing is sent until somebody else approves too."
    else:
        what = "The refund may then be sent; every fact is checked again before it is."
    return f"Yours is approval {number} of {approval.needed}. {what}"


def recorded_text(case: CaseEvidence, *, decision: str) -> str:
    """Return what was recorded, said once the decision is committed."""
    if case.approval is None or decision != "approve":
        return f"Rejected: no refund is sent for ticket #{case.ticket}."
    if case.approval.votes + 1 < case.approval.needed:
        return (
            f"Your approval of {case.approval.amount} for ticket #{case.ticket} is recorded. "
            "It needs another person's approval before anything is sent."
        )
    return f"Approved: a refund of {case.approval.amount} for ticket #{case.ticket}."
