"""What the page of a request offers its customer to do."""

from dataclasses import dataclass
from typing import Final

from notifications.refusals import REFUSAL_TEXTS
from refunds.actions.contact import why_no_person
from refunds.actions.withdrawal import why_not_withdrawable
from refunds.models import RefundWorkflow
from refunds.states import HUMAN_WORKFLOW_STATES, TERMINAL_WORKFLOW_STATES, Origin, WorkflowState

# Where people expect to withdraw and can't, the page says why.
_SAID: Final = frozenset({"REFUND_EXISTS", "STARTED_BY_STAFF"})


@dataclass(frozen=True, slots=True)
class Offers:
    """Each action, where it is possible; ``why_not_withdraw`` is a sentence, or empty."""

    name_order: bool
    add_information: bool
    ask_person: bool
    withdraw: bool
    why_not_withdraw: str


def offers_of(workflow: RefundWorkflow) -> Offers:
    """Return what can be done with a request as it stands: one query."""
    is_open = workflow.state not in TERMINAL_WORKFLOW_STATES
    code = why_not_withdrawable(workflow)
    with_people = workflow.state in HUMAN_WORKFLOW_STATES or (is_open and workflow.origin == Origin.STAFF)
    return Offers(
        name_order=workflow.order_id is None and workflow.state == WorkflowState.EVIDENCE_PENDING,
        add_information=is_open,
        ask_person=not with_people and why_no_person(workflow) is None,
        withdraw=code is None,
        why_not_withdraw=REFUSAL_TEXTS[code] if is_open and code in _SAID else "",
    )
