"""The audit outbox: committed with the change it describes, published later, never changed or deleted."""

from django.db import models

from ledger.models.append_only import AppendOnlyModel


class AuditOutbox(AppendOnlyModel):
    """One durable audit event that awaits publication; ``event_id`` lets consumers drop repeats."""

    event_id = models.CharField(max_length=40, unique=True)
    topic = models.CharField(max_length=80)
    subject = models.CharField(max_length=40)
    payload = models.JSONField()
    at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "audit_outbox"

    def __str__(self) -> str:
        return f"{self.topic} {self.subject}"


class AuditPublication(AppendOnlyModel):
    """The publication of one outbox row, chained by hash: a gap or a change in the chain can be seen."""

    sequence = models.BigIntegerField(primary_key=True)
    outbox = models.OneToOneField(AuditOutbox, on_delete=models.PROTECT, related_name="publication")
    prev_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)
    published_at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "audit_publications"

    def __str__(self) -> str:
        return str(self.sequence)
