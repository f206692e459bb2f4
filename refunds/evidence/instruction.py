"""The exact command of a workflow, built from verified columns alone."""

from refunds.fingerprints import RefundInstruction
from refunds.models import RefundWorkflow


class NoOrderError(RuntimeError):
    """If you see this, something was decided about a request before it was known which order it is about."""


class NoVerifiedTargetError(RuntimeError):
    """If you see this, a command was asked of a workflow whose finding names no charge to refund."""


def order_id_of(workflow: RefundWorkflow) -> int:
    """Return the order that the workflow is about; only requests that still wait for one have none."""
    if workflow.order_id is None:
        raise NoOrderError(workflow.pk)
    return workflow.order_id


def build_instruction(workflow: RefundWorkflow) -> RefundInstruction:
    """Return the command that would refund what stage 5 proved; a proposal has no part in it."""
    payment = workflow.refund_payment
    if payment is None or workflow.amount_minor_units is None or not workflow.currency:
        raise NoVerifiedTargetError(workflow.pk)
    return RefundInstruction(
        merchant=workflow.merchant.code,
        account=payment.account,
        payment=payment.processor_reference,
        amount_minor_units=workflow.amount_minor_units,
        currency=workflow.currency,
        reason=workflow.problem,
        workflow_id=workflow.pk,
        command_number=workflow.command_number,
    )
