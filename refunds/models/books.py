"""The nightly comparison of three books: what was compared, and each difference that was found. Append-only."""

import pgtrigger
from django.db import models

from ledger.ids import ID_LENGTH
from ledger.models import AppendOnlyModel, LedgerEntry, Merchant, Payment
from ledger.snapshot import EntryKind, EntryStatus
from refunds.models.conservation import freeze
from refunds.states import CheckCause, DifferenceKind


class FreezingEntry(LedgerEntry):
    """A ledger entry with the trigger that reads refund operations as well, which the ledger knows nothing of."""

    class Meta:
        proxy = True
        triggers = [
            pgtrigger.Trigger(
                name="freezes_overdrawn",
                when=pgtrigger.After,
                # At the end of the transaction: a file may have a refund before its charge, and a refund that was
                # only counted counts twice until the transaction that names it is done.
                timing=pgtrigger.Deferred,
                operation=pgtrigger.Insert | pgtrigger.UpdateOf("status"),  # type: ignore[no-untyped-call]
                # A charge that stands takes nothing away; bulk loads of charges cost nothing here.
                condition=pgtrigger.Condition(
                    f"NEW.kind IN ('{EntryKind.REFUND}', '{EntryKind.REVERSAL}', '{EntryKind.DISPUTE}')"
                    f" OR NEW.kind = '{EntryKind.CAPTURE}' AND NEW.status <> '{EntryStatus.SUCCEEDED}'"
                ),
                func=freeze(),
            ),
        ]


class BookComparison(AppendOnlyModel):
    """One comparison of one merchant's books up to the end of a day (UTC), written once it is finished."""

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    books_of = models.DateField(help_text="The day up to whose end the books were compared.")
    cause = models.CharField(max_length=12, default=CheckCause.SCHEDULED)
    counts = models.JSONField(help_text="Differences by kind.")
    payments = models.PositiveIntegerField(
        help_text="Payments whose books were compared; one that was active on several days counts for each."
    )
    asked = models.PositiveIntegerField(help_text="Payments whose refunds the provider was asked for.")
    unread = models.PositiveIntegerField(help_text="Payments whose list the provider did not give in full.")
    not_asked = models.PositiveIntegerField(help_text="Payments that were left for another night.")
    foreign = models.PositiveIntegerField(
        help_text="Settled refunds of payments that this desk does not hold."
    )
    settled_until = models.DateTimeField(null=True, help_text="How far the settlement reports reach.")
    capped = models.BooleanField(default=False, help_text="There are more differences than are kept.")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "book_comparisons"
        indexes = [models.Index(fields=["merchant", "books_of"], name="comparison_of_day")]

    def __str__(self) -> str:
        return f"{self.merchant_id} {self.books_of}"


class BookDifference(AppendOnlyModel):
    """One difference between the books; nothing is changed by it. ``facts`` holds what each book says."""

    comparison = models.ForeignKey(BookComparison, on_delete=models.PROTECT, related_name="differences")
    kind = models.CharField(max_length=32, choices=[(k.value, k.value) for k in DifferenceKind])
    subject_id = models.CharField(max_length=ID_LENGTH, help_text="The case about this kind and subject.")
    payment = models.ForeignKey(
        Payment, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    payment_reference = models.CharField(max_length=255, blank=True)
    operation_id = models.CharField(max_length=255, blank=True)
    processor_reference = models.CharField(max_length=255, blank=True)
    facts = models.JSONField()
    facts_sha256 = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "book_differences"
        constraints = [
            models.UniqueConstraint(fields=["comparison", "subject_id"], name="difference_once"),
        ]
        indexes = [models.Index(fields=["subject_id", "-at"], name="difference_by_subject")]

    def __str__(self) -> str:
        return f"{self.kind} {self.operation_id or self.processor_reference or self.payment_reference}"
