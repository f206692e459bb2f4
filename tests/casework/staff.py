"""A merchant with one charge of $100.00, and the form by which its staff ask to refund some of it."""

from refunds import pipeline
from refunds.casework.staff_request import StaffRefundRequest
from refunds.models import RefundWorkflow
from tests.factories import NOW, latest_approval, make_customer, make_order, make_payment

REASON = "DUPLICATE_CHARGE"


def charge_of(merchant, *, amount=10_000, currency="USD", **columns):
    order = make_order(customer=make_customer(merchant=merchant), total_minor_units=amount, currency=currency)
    return make_payment(order=order, refreshed_at=columns.pop("refreshed_at", NOW), **columns)


def form(payment, staff, **changes):
    asked = {
        "staff_user_id": staff.pk,
        "merchant_id": payment.merchant_id,
        "order_number": payment.order.number,
        "payment_reference": payment.processor_reference,
        "amount_minor_units": 6000,
        "currency": "USD",
        "reason_code": REASON,
        "note": "The zip broke on the first day.",
        "client_token": "form-1",
    }
    return StaffRefundRequest(**(asked | changes))


def start(payment, staff, *, now=NOW, run=True, **changes):
    """Start a staff refund and take it to where people decide."""
    opened = pipeline.start_staff_refund(asked=form(payment, staff, **changes), now=now)
    if run:
        pipeline.advance_workflow(workflow_id=opened.workflow_id, clock=lambda: now)
    return RefundWorkflow.objects.get(pk=opened.workflow_id)


def approve(workflow, staff, *, now=NOW, decision="approve"):
    approval = latest_approval(workflow)
    return pipeline.decide(
        approval_id=approval.pk,
        decision=decision,
        staff_user_id=staff.pk,
        fingerprint=approval.request_fingerprint,
        reason_code="CONFIRMED",
        note="" if decision == "approve" else "No.",
        now=now,
    )


def states_of(row):
    """The states that a row went through."""
    return list(
        row.events.filter(kind="TRANSITION").order_by("state_sequence").values_list("to_state", flat=True)
    )
