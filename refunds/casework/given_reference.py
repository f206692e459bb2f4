"""A person says under which reference the provider has a refund: it is looked up, and only the object counts."""

import re
from datetime import datetime
from typing import Final

from ledger.card_numbers import has_card_number
from ledger.transitions import Why, append_record
from refunds.casework.owned_case import CaseAction, operation_of, owned_case
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.evidence.given import GIVEN, look_soon
from refunds.states import OperationState

_REFERENCE: Final = re.compile(r"[A-Za-z0-9_\-]{1,255}")


def is_reference(text: str) -> bool:
    """Tell whether this can be the provider's id of a refund; a card number stands in no evidence."""
    return bool(_REFERENCE.fullmatch(text)) and not has_card_number(text)


def give_reference(action: CaseAction, *, operation_id: str, reference: str, now: datetime) -> None:
    """Record the provider's reference that a person gives for an operation of a case that they hold.

    Nothing moves by it. Raises ``CaseWorkRefusedError``.
    """
    if not is_reference(reference):
        raise CaseWorkRefusedError("REFERENCE_INVALID")
    with owned_case(action, now=now, operation_id=operation_of(action, operation_id)) as owned:
        operation = owned.evidence.operation
        if operation is None or operation.state != OperationState.MANUAL_REVIEW:
            raise CaseWorkRefusedError("NOT_WITH_PEOPLE")
        if operation.processor_reference is not None:
            raise CaseWorkRefusedError("REFERENCE_KNOWN")
        why = owned.why(GIVEN, action)
        said = why.evidence | {"processor_reference": reference}
        append_record(operation, Why(why.actor, why.stage, GIVEN, why.policy_version, said), now=now)
        look_soon(operation, now=now)
