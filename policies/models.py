"""Policy versions: approved, dated copies of the rules, immutable once stored."""

from django.db import models
from django.db.models import F, Q

from ledger.models import AppendOnlyModel, Merchant


class PolicyVersion(AppendOnlyModel):
    """One version of one merchant's rules for one reason, in force from ``effective_from`` until ``effective_to``.

    Empty attributes match everything; the most specific version never wins over another: two that apply at one
    date are an error for people (``policies.selection``).
    """

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    code = models.CharField(max_length=40)
    version = models.PositiveIntegerField()
    reason = models.CharField(max_length=40)
    region = models.CharField(max_length=8, blank=True)
    product_type = models.CharField(max_length=40, blank=True)
    payment_method = models.CharField(max_length=40, blank=True)
    effective_from = models.DateTimeField()
    effective_to = models.DateTimeField(null=True, blank=True, help_text="Exclusive; empty means open-ended.")
    rules = models.JSONField()
    guidance = models.TextField(
        blank=True,
        max_length=1000,
        help_text="The rules in prose, for their wording only: it decides nothing.",
    )
    source_reference = models.CharField(max_length=200)
    approved_by = models.CharField(max_length=80)
    approved_at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "policy_versions"
        constraints = [
            models.UniqueConstraint(fields=["merchant", "code", "version"], name="policy_version_once"),
            models.CheckConstraint(
                condition=Q(effective_to__isnull=True) | Q(effective_to__gt=F("effective_from")),
                name="policy_period_forward",
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """Return the name that decisions record, such as ``REF-DUP v7``."""
        return f"{self.code} v{self.version}"
