"""A model reads what a customer wrote while their request names no order: a suggestion for one page, and no more.

Nothing here moves a request, sets its order or its problem, or asks for people. The customer confirms the order
(``giving_order``), the policy decides. Without a model, or with a bad, slow or lost answer, no order is suggested.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from refunds.evidence.asked import asked_columns
from refunds.models import CustomerMessage, MessageReading
from refunds.proposers.customer_text import prepare_customer_text
from refunds.proposers.reading import ParsedReading, ReadingContext, hinted_number
from refunds.proposers.reading_loop import ReadingOutcome, ask_for_reading, can_read
from refunds.proposers.registry import get_proposers
from refunds.proposers.schema import Malformed
from refunds.selectors.model_qualifications import get_admission
from refunds.selectors.requests import owns_order
from refunds.states import Origin, WorkflowState


@dataclass(frozen=True, slots=True)
class Unread:
    """The newest words of a request that waits for its order, and all that a reader may know of them."""

    message: CustomerMessage
    context: ReadingContext


def read_message(*, workflow_id: str, clock: Callable[[], datetime]) -> bool:
    """Have the newest words read once, by the first model that can be had; say whether a reading was kept.

    The models are asked outside any transaction. Twenty calls leave one reading.
    """
    line = get_proposers()
    unread = _newest_unread(workflow_id) if can_read(line) else None
    if unread is None:
        return False
    outcome = ask_for_reading(
        line,
        unread.context,
        deadline_seconds=settings.ASSISTANT_DEADLINE_SECONDS,
        admission=get_admission(line, now=clock(), asked_for=str(unread.message.workflow.customer_id)),
    )
    if outcome is None:
        return False
    MessageReading.objects.bulk_create([_reading(unread, outcome, clock())], ignore_conflicts=True)
    return True


def _newest_unread(workflow_id: str) -> Unread | None:
    of_request = CustomerMessage.objects.filter(workflow_id=workflow_id)
    newest = of_request.select_related("text", "workflow", "reading").order_by("-pk").first()
    if newest is None or hasattr(newest, "reading"):
        return None
    workflow = newest.workflow
    waits = workflow.order_id is None and workflow.state == WorkflowState.EVIDENCE_PENDING
    text = prepare_customer_text(newest.text.body) if waits and workflow.origin == Origin.CUSTOMER else None
    return Unread(newest, ReadingContext(customer_text=text)) if text else None


def _reading(unread: Unread, outcome: ReadingOutcome, now: datetime) -> MessageReading:
    parsed = outcome.parsed
    said = parsed if isinstance(parsed, ParsedReading) else None
    return MessageReading(
        workflow_id=unread.message.workflow_id,
        message=unread.message,
        reader=outcome.reader[:40],
        output_class=parsed.proposal_class,
        detail=str(parsed.reason) if isinstance(parsed, Malformed) else "",
        intent=said.intent if said else "",
        problem=said.problem if said else "",
        language=said.language if said else "",
        order_hint=_kept_hint(said, unread) if said else "",
        requests=outcome.requests,
        at=now,
        **asked_columns(outcome.answer),
    )


def _kept_hint(said: ParsedReading, unread: Unread) -> str:
    """Return the hint only as the number of an own order that stands in the words: anything else is unknown."""
    if said.order_hint is None:
        return ""
    number = hinted_number(said, unread.context)
    customer_id = unread.message.workflow.customer_id
    known = number is not None and owns_order(customer_id=customer_id, number=number)
    return number if number is not None and known else MessageReading.HINT_UNKNOWN
