"""Opens a refund that staff ask for: a workflow of its own, which reserves nothing until it is approved.

What is refused here is refused before any row. The same facts are asked again by stages 5, 7, 9 and 10.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction

from ledger.actors import Actor
from ledger.ids import new_id, new_reference
from ledger.models import Payment
from ledger.snapshot import LedgerSnapshot
from ledger.transitions import Why, create_with_event
from refunds.casework.refusals import StaffStartRefusedError
from refunds.casework.staff_request import CheckedRequest
from refunds.evidence.notes import keep_note
from refunds.evidence.policy import ApplicablePolicy, PolicyUnusable
from refunds.evidence.source import local_source
from refunds.evidence.staff_finding import why_no_staff_refund
from refunds.gateways.registry import why_unsendable
from refunds.models import RefundWorkflow
from refunds.states import Origin

STAGE = "OPEN_WORKFLOW"


def new_staff_workflow(request: CheckedRequest, *, now: datetime) -> RefundWorkflow:
    """Return the workflow of a checked form, unsaved: no slot of the customer's, and never automatic."""
    asked, order = request.asked, request.order
    maker = Actor.staff(asked.staff_user_id)
    return RefundWorkflow(
        id=new_id("wf"),
        reference=new_reference(),
        origin=Origin.STAFF,
        maker_id=maker.id,
        merchant_id=asked.merchant_id,
        customer_id=order.customer_id,
        order=order,
        staff_payment=request.payment,
        staff_amount_minor_units=asked.amount_minor_units,
        problem=asked.reason_code,
        client_token=asked.stored_token,
        person_required=True,
        next_attempt_at=now,
        claimed_until=now + timedelta(seconds=settings.RECOVERY_INTERVAL_SECONDS),  # by its nudge
        created_at=now,
    )


def open_staff_workflow(
    request: CheckedRequest,
    workflow: RefundWorkflow,
    policy: ApplicablePolicy | PolicyUnusable,
    *,
    now: datetime,
) -> tuple[str, bool]:
    """Store the workflow under the charge's lock, or return the one of the same form; the flag: it is new.

    Raises ``StaffStartRefusedError``.
    """
    try:
        with transaction.atomic(durable=True):
            Payment.objects.select_for_update(of=("self",), no_key=True).get(pk=request.payment.pk)
            earlier = _same_form(request)
            if earlier is not None:
                return earlier, False
            _require_refundable(request, policy, now)
            create_with_event(workflow, _why(request, now), now=now)
    except IntegrityError:
        earlier = _same_form(request)  # the same token came in about another charge at the same moment
        if earlier is None:
            raise
        return earlier, False
    return workflow.pk, True


def _same_form(request: CheckedRequest) -> str | None:
    """Return the request that this filling-in of the form has opened already; one token never carries two forms."""
    asked = request.asked
    found = RefundWorkflow.objects.filter(
        merchant_id=asked.merchant_id, client_token=asked.stored_token
    ).first()
    if found is None:
        return None
    same = (found.order_id, found.staff_payment_id, found.staff_amount_minor_units, found.problem) == (
        request.order.pk,
        request.payment.pk,
        asked.amount_minor_units,
        asked.reason_code,
    )
    if not same:
        raise StaffStartRefusedError("CLIENT_TOKEN_REUSED")
    return found.pk


def _require_refundable(
    request: CheckedRequest, policy: ApplicablePolicy | PolicyUnusable, now: datetime
) -> None:
    if isinstance(policy, PolicyUnusable):
        raise StaffStartRefusedError(policy.reason_code)
    if policy.rules.age_in_days(request.order.placed_at, now) > policy.rules.max_age_days:
        raise StaffStartRefusedError("OLDER_THAN_POLICY")
    asked = request.asked
    snapshot = local_source().read_order(
        merchant_id=asked.merchant_id,
        customer_id=request.order.customer_id,
        order_id=request.order.pk,
        now=now,
    )
    problem = (
        why_no_staff_refund(snapshot, request.payment.pk, asked.amount_minor_units, asked.currency)
        if isinstance(snapshot, LedgerSnapshot)
        else "SOURCE_UNAVAILABLE"
    ) or why_unsendable(
        account=request.payment.account,
        payment_reference=request.payment.processor_reference,
        amount_minor_units=asked.amount_minor_units,
        currency=asked.currency,
    )
    if problem is not None:
        raise StaffStartRefusedError(str(problem))


def _why(request: CheckedRequest, now: datetime) -> Why:
    asked = request.asked
    return Why(
        actor=Actor.staff(asked.staff_user_id),
        stage=STAGE,
        reason=asked.reason_code,
        evidence={
            "order_id": request.order.pk,
            "payment_id": request.payment.pk,
            "amount_minor_units": asked.amount_minor_units,
            "currency": asked.currency,
            **keep_note(request.note, now=now),
        },
    )
