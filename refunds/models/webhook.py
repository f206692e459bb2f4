"""Events that the provider sent: stored before they are believed, applied later and once."""

import pgtrigger
from django.db import models
from django.db.models.functions import Greatest

from ledger.models import ErasableText
from refunds.states import WebhookOutcome


class GatewayWebhook(models.Model):
    """One event whose signature was verified. What the provider sent never changes; only its handling does.

    ``operation_id`` is what the object's metadata says, or the key of the request that led to the event, as text: it
    may name nothing of ours.
    """

    provider = models.CharField(max_length=40)
    account = models.CharField(max_length=64, blank=True, help_text="The connected account; empty: our own.")
    event_id = models.CharField(max_length=255)
    event_type = models.CharField(max_length=100)
    livemode = models.BooleanField()
    object_id = models.CharField(max_length=255, blank=True)
    payment_reference = models.CharField(max_length=255, blank=True)
    operation_id = models.CharField(max_length=255, blank=True)
    happened_at = models.DateTimeField(help_text="The provider's own time of the event.")
    body = models.ForeignKey(ErasableText, on_delete=models.PROTECT, related_name="+", db_index=False)
    body_sha256 = models.CharField(max_length=64)
    trace_id = models.CharField(max_length=64, blank=True)
    received_at = models.DateTimeField()
    outcome = models.CharField(max_length=12, default=WebhookOutcome.RECEIVED)
    detail = models.CharField(max_length=80, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "gateway_webhooks"
        constraints = [
            models.UniqueConstraint(fields=["provider", "account", "event_id"], name="webhook_event_once"),
        ]
        indexes = [
            models.Index(  # in the order in which ``refunds.recovery`` claims
                Greatest("next_attempt_at", "claimed_until"),
                condition=models.Q(next_attempt_at__isnull=False),
                name="webhook_to_apply",
            ),
            models.Index(
                fields=["operation_id"], condition=~models.Q(operation_id=""), name="webhook_of_operation"
            ),
            models.Index(fields=["object_id"], condition=~models.Q(object_id=""), name="webhook_of_object"),
        ]
        triggers = [
            pgtrigger.Protect(name="never_deleted", operation=pgtrigger.Delete),
            pgtrigger.ReadOnly(
                name="event_is_fixed",
                fields=[
                    *("provider", "account", "event_id", "event_type", "livemode", "object_id"),
                    *("payment_reference", "operation_id", "happened_at", "body", "body_sha256"),
                    *("trace_id", "received_at"),
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.event_id}"
