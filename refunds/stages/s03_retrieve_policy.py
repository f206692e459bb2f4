"""Stage 3. Retrieve the applicable policy.

Input: tenant, region, product type, payment method, reason, and the date of the request.
Output: one policy version with its typed rules.
Failure destination: none or several versions apply -> people decide, never a default.
"""

from datetime import datetime

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Q

from ledger.models import Order
from policies.selection import NoSinglePolicy, PolicyContext
from policies.selectors import get_applicable_policy
from refunds.evidence.policy import ApplicablePolicy, PolicyUnusable, read_policy
from refunds.models import RefundWorkflow


def retrieve_policy(*, workflow: RefundWorkflow, at: datetime) -> ApplicablePolicy | PolicyUnusable:
    """Return the policy in force at ``at`` for the workflow's order and problem."""
    if workflow.order_id is None:
        raise ValueError(f"{workflow.pk} has no order yet, so no policy applies to it")
    paid = Q(payments__isnull=False)
    methods = ArrayAgg("payments__method_type", filter=paid, distinct=True, default=[])
    order = Order.objects.select_related("merchant").annotate(methods=methods).get(pk=workflow.order_id)
    context = PolicyContext(
        merchant_id=order.merchant_id,
        region=order.merchant.region,
        product_type=order.product_type,
        payment_method=order.methods[0] if len(order.methods) == 1 else "",
        reason=workflow.problem,
    )
    found = get_applicable_policy(context, at=at)
    if isinstance(found, NoSinglePolicy):
        return PolicyUnusable(found.reason_code, found.candidates)
    return read_policy(found)
