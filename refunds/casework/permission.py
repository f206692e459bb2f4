"""Which member of staff may do what for a merchant.

``StaffMembership.can_approve`` is the one right there is today: with it a person starts refunds, works on cases and
decides; without it they read. Being a superuser gives none of it.
"""

from ledger.models import StaffMembership


def may_work_for(*, merchant_id: int, staff_user_id: int) -> bool:
    """Tell whether this person may act for the merchant."""
    return StaffMembership.objects.filter(
        merchant_id=merchant_id, user_id=staff_user_id, can_approve=True, user__is_active=True
    ).exists()
