"""Whose request it is, and what the event of a customer's action says."""

from typing import Any

from ledger.actors import Actor
from ledger.transitions import Why
from refunds.models import RefundWorkflow
from refunds.refusals import RequestNotFoundError
from refunds.selectors.requests import get_request
from refunds.stages.s01_authorize_request import SignedIn

STAGE = "CUSTOMER_ACTION"


def own_request(*, signed_in: SignedIn, workflow_id: str) -> RefundWorkflow:
    """Return the customer's own request; raise ``RequestNotFoundError`` alike for foreign and missing.

    A request never changes its customer, so this may be asked before the lock is taken.
    """
    workflow = get_request(customer_id=signed_in.customer_id, workflow_id=workflow_id)
    if workflow is None:
        raise RequestNotFoundError
    return workflow


def why_customer(signed_in: SignedIn, reason: str, **evidence: Any) -> Why:
    """Return what the event of a customer's action says: who, how they were signed in, and ids."""
    return Why(
        actor=Actor.customer(signed_in.user_id),
        stage=STAGE,
        reason=reason,
        evidence={"method": signed_in.method, **evidence},
    )
