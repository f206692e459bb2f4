"""What people do with a case about the books: explain a difference, or release a payment that facts had frozen.

No money moves and no book is changed by either; a refund needs its own approval afterwards as ever.
"""

from datetime import datetime
from typing import Final

from approvals.models import ReviewCase
from ledger.actors import Actor
from ledger.intake import IntakeRefusedError, check_note
from ledger.models import Payment
from refunds.casework.owned_case import CaseAction, find_case, require_explained
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.evidence.frozen import SUBJECT as PAYMENT
from refunds.evidence.frozen import NotFrozenError, StillOverdrawnError, release_payment
from refunds.evidence.three_books.recording import SUBJECT as DIFFERENCE
from refunds.evidence.three_books.recording import CaseNotOpenError, FactsChangedError, explain_difference
from refunds.models import BookDifference

SUBJECTS: Final = (PAYMENT, DIFFERENCE)


def settle_book_case(action: CaseAction, *, seen: str, now: datetime) -> None:
    """Close the case with what a person found out. Raises ``CaseWorkRefusedError``; nothing is changed then.

    ``seen`` is the digest of what the books said when the person looked; a frozen payment is looked at anew.
    """
    case = find_case(action)
    if not case.subject_id.startswith(SUBJECTS):
        raise CaseWorkRefusedError("NO_SUCH_CASE")
    if _is_about(case, action.staff_user_id):
        raise CaseWorkRefusedError("OWN_REQUEST")
    require_explained(reason_code=action.reason_code, note=action.note)
    try:
        note = check_note(action.note)
        _settle(case, action, note, seen, now)
    except IntakeRefusedError as refused:
        raise CaseWorkRefusedError(refused.code) from refused
    except FactsChangedError as refused:
        raise CaseWorkRefusedError("BOOKS_CHANGED") from refused
    except StillOverdrawnError as refused:
        raise CaseWorkRefusedError("STILL_OVERDRAWN") from refused
    except (NotFrozenError, CaseNotOpenError) as refused:
        raise CaseWorkRefusedError("CASE_CLOSED") from refused


def _is_about(case: ReviewCase, staff_user_id: int) -> bool:
    """Tell whether the payment was the person's own, as a customer."""
    if case.subject_id.startswith(PAYMENT):
        named = [int(case.subject_id.removeprefix(PAYMENT))]
    else:
        found = BookDifference.objects.filter(subject_id=case.subject_id, payment_id__isnull=False)
        named = list(found.values_list("payment_id", flat=True).distinct())
    return Payment.objects.filter(pk__in=named, order__customer__user_id=staff_user_id).exists()


def _settle(case: ReviewCase, action: CaseAction, note: str, seen: str, now: datetime) -> None:
    actor = Actor.staff(action.staff_user_id)
    if case.subject_id.startswith(PAYMENT):
        payment_id = int(case.subject_id.removeprefix(PAYMENT))
        release_payment(payment_id=payment_id, reason=action.reason_code, note=note, actor=actor, now=now)
    else:
        explain_difference(
            case=case, actor=actor, reason_code=action.reason_code, note=note, seen=seen, now=now
        )
