"""Reads of policy versions."""

from datetime import datetime

from policies.models import PolicyVersion
from policies.selection import NoSinglePolicy, PolicyContext, VersionView, select_version


def get_applicable_policy(context: PolicyContext, *, at: datetime) -> PolicyVersion | NoSinglePolicy:
    """Return the merchant's one version in force for this context, in one query."""
    stored = {
        version.pk: version
        for version in PolicyVersion.objects.filter(merchant_id=context.merchant_id, reason=context.reason)
    }
    views = [
        VersionView(v.pk, v.region, v.product_type, v.payment_method, v.effective_from, v.effective_to)
        for v in stored.values()
    ]
    chosen = select_version(views, context, at=at)
    return chosen if isinstance(chosen, NoSinglePolicy) else stored[chosen.id]
