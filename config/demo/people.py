"""Who can sign in to the demo, the staff they are, and the policies in force."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX, make_password
from django.contrib.auth.models import Group, Permission, User

from config.demo.credentials import PASSWORD
from ledger.models import Merchant, StaffMembership
from policies.models import PolicyVersion
from policies.rules import parse_rules

RULES: Final[dict[str, Any]] = {
    "auto_limit_minor_units": {"USD": 10_000, "EUR": 10_000, "JPY": 15_000, "KWD": 30_000},
    "two_people_above_minor_units": {"USD": 50_000, "EUR": 50_000, "JPY": 75_000, "KWD": 150_000},
    "duplicate_window_hours": 72,
    "max_age_days": 60,
    "snapshot_max_age_seconds": 24 * 3600,
    "approval_valid_hours": 48,
    "automatic_without_model": True,
    "closes_on_gateway_rejection": False,
}

READABLE: Final = {
    "ledger": ("merchant", "customer", "order", "payment", "ledgerentry", "settlement", "settlementfile"),
    "policies": ("policyversion", "knowledgedocument", "knowledgedocumentevent"),
    "approvals": ("approvalrequest", "evidenceattachment", "reviewcase"),
    "notifications": ("notification", "notificationattempt"),
    "refunds": (
        "refundworkflow",
        "refundworkflowevent",
        "refundoperation",
        "refundoperationevent",
        "gatewayattempt",
        "gatewayresponse",
        "reconciliationcheck",
        "bookcomparison",
        "bookdifference",
        "proposal",
        "ruleresult",
        "customermessage",
        "messagereading",
    ),
}


@dataclass(frozen=True)
class StaffMember:
    """One member of a merchant's billing staff."""

    name: str
    may_approve: bool

    def email(self, merchant: str) -> str:
        """Return the address that this person signs in with."""
        return f"{self.name}@{merchant}.example.com"


STAFF: Final = (
    StaffMember("reviewer", may_approve=True),
    StaffMember("second", may_approve=True),
    StaffMember("viewer", may_approve=False),
)


def set_up_people(*, merchants: list[Merchant], now: datetime) -> None:
    """Create staff, passwords and one policy per merchant; what exists already is left as it is."""
    readers = _readers()
    for merchant in merchants:
        _policy(merchant, now)
        for member in STAFF:
            user = _user(member.email(merchant.code), is_staff=True)
            StaffMembership.objects.get_or_create(
                merchant=merchant, user=user, defaults={"can_approve": member.may_approve}
            )
            user.groups.add(readers)
    customers = User.objects.filter(customers__isnull=False).distinct()
    customers.filter(password__startswith=UNUSABLE_PASSWORD_PREFIX).update(password=_hashed())
    admin = _user("admin@refund-desk.example.com", is_staff=True)
    if not admin.is_superuser:
        admin.is_superuser = True
        admin.save(update_fields=["is_superuser"])


def _readers() -> Group:
    """Return the group whose members may read in the admin what belongs to their own merchants."""
    group, _ = Group.objects.get_or_create(name="Billing staff")
    for app_label, models in READABLE.items():
        names = [f"view_{model}" for model in models]
        group.permissions.add(
            *Permission.objects.filter(content_type__app_label=app_label, codename__in=names)
        )
    return group


def _user(email: str, *, is_staff: bool) -> User:
    found = User.objects.filter(email=email).first()
    if found is not None:
        return found
    return User.objects.create(username=email, email=email, password=_hashed(), is_staff=is_staff)


@cache
def _hashed() -> str:
    """Hash the demo's one password once: each hash takes a good part of a second."""
    return make_password(PASSWORD)


def _policy(merchant: Merchant, now: datetime) -> None:
    if PolicyVersion.objects.filter(merchant=merchant).exists():
        return
    parse_rules(RULES)
    PolicyVersion.objects.create(
        merchant=merchant,
        code="REF-DUP",
        version=1,
        reason="DUPLICATE_CHARGE",
        effective_from=now - timedelta(days=365),
        rules=RULES,
        guidance="A second charge for one purchase goes back to the payment method that it came from.",
        source_reference="handbook/refunds#duplicate-charges",
        approved_by="user:head-of-billing",
        approved_at=now - timedelta(days=366),
    )
