"""Messages to customers: one per logical event, with every delivery attempt kept."""

from django.db import models
from django.db.models import Q

from ledger.ids import ID_LENGTH
from ledger.models import AppendOnlyModel, Customer


class Notification(models.Model):
    """One message that a customer is owed. Its delivery never touches a refund.

    ``facts`` are the frozen facts that the wording is chosen from. Delivered and failed are derived from the
    attempts; the columns here only schedule the next one.
    """

    logical_event_id = models.CharField(max_length=120, unique=True)
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="+")
    subject_id = models.CharField(max_length=ID_LENGTH)
    facts = models.JSONField()
    created_at = models.DateTimeField()
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "notifications"
        indexes = [
            models.Index(
                fields=["next_attempt_at"],
                condition=Q(next_attempt_at__isnull=False),
                name="notification_due",
            ),
            models.Index(fields=["subject_id"], name="notification_subject"),
        ]

    def __str__(self) -> str:
        return self.logical_event_id


class NotificationAttempt(AppendOnlyModel):
    """One attempt to deliver a message, and how it ended."""

    notification = models.ForeignKey(
        Notification, on_delete=models.PROTECT, related_name="attempts", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    channel = models.CharField(max_length=20)
    outcome = models.CharField(max_length=20)  # DELIVERED, TRANSIENT, PERMANENT
    detail = models.CharField(max_length=120, blank=True)
    message_id = models.CharField(max_length=200)
    at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "notification_attempts"
        constraints = [
            models.UniqueConstraint(fields=["notification", "number"], name="notification_attempt_once"),
        ]

    def __str__(self) -> str:
        return f"{self.notification_id} #{self.number} {self.outcome}"
