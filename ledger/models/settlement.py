"""What the provider's settlement reports say: what was booked against a balance, and in which file it stood."""

from django.db import models
from django.db.models import Q

from ledger.models.append_only import AppendOnlyModel
from ledger.models.facts import Merchant
from ledger.settlements.rows import SettlementCategory, SettlementReport


class SettlementFile(AppendOnlyModel):
    """One report that was imported: whose it is, and how far its rows reach."""

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    account = models.CharField(max_length=64, blank=True)
    report = models.CharField(max_length=24, choices=[(r.value, r.value) for r in SettlementReport])
    sha256 = models.CharField(max_length=64)
    rows = models.PositiveIntegerField(help_text="Rows of every category, also those that are not kept.")
    first_booked_at = models.DateTimeField(null=True)
    last_booked_at = models.DateTimeField(null=True, help_text="The books are settled up to here.")
    imported_at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "ledger_settlement_files"
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "account", "report", "sha256"], name="settlement_file_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.report} {self.sha256[:12]}"


class Settlement(AppendOnlyModel):
    """One line of a settlement report about money that left, or came back.

    ``amount_minor_units`` is positive for money out, in the currency that the customer was refunded in; ``settled``
    is the same in the currency of the balance. ``operation_id`` is what the refund's metadata says, as text: it may
    name nothing of ours. A later file that tells more of a line adds its next ``revision``; the newest one counts.
    """

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    file = models.ForeignKey(SettlementFile, on_delete=models.PROTECT, related_name="settlements")
    account = models.CharField(max_length=64, blank=True)
    report = models.CharField(max_length=24, choices=[(r.value, r.value) for r in SettlementReport])
    row_reference = models.CharField(
        max_length=255, help_text="The provider's id of the balance transaction."
    )
    revision = models.PositiveSmallIntegerField(default=1)
    category = models.CharField(max_length=32, choices=[(c.value, c.value) for c in SettlementCategory])
    processor_reference = models.CharField(max_length=255, help_text="The provider's id of the refund.")
    operation_id = models.CharField(max_length=255, blank=True)
    payment_reference = models.CharField(max_length=255, blank=True)
    intent_reference = models.CharField(max_length=255, blank=True)
    amount_minor_units = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    settled_minor_units = models.BigIntegerField()
    settled_currency = models.CharField(max_length=3)
    payout_reference = models.CharField(max_length=255, blank=True)
    booked_at = models.DateTimeField()
    imported_at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "ledger_settlements"
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "account", "report", "row_reference", "revision"],
                name="settlement_row_once",
            ),
            models.CheckConstraint(condition=~Q(amount_minor_units=0), name="settlement_amount_not_zero"),
        ]
        indexes = [
            models.Index(fields=["merchant", "account", "payment_reference"], name="settlement_of_payment"),
            models.Index(
                fields=["merchant", "account", "intent_reference"],
                condition=~Q(intent_reference=""),
                name="settlement_of_intent",
            ),
            models.Index(
                fields=["operation_id"], condition=~Q(operation_id=""), name="settlement_of_operation"
            ),
            models.Index(fields=["processor_reference"], name="settlement_of_refund"),
            models.Index(fields=["merchant", "booked_at"], name="settlement_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.category} {self.processor_reference}"
