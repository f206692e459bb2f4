"""What was sent to the provider and what came back: append-only, digests and allow-listed fields only."""

from django.db import models

from ledger.ids import ID_LENGTH
from ledger.models import AppendOnlyModel
from refunds.models.operation import RefundOperation
from refunds.states import CheckCause


class GatewayAttempt(AppendOnlyModel):
    """One call that is about to be made; committed before its first byte leaves (beat A of stage 10)."""

    id = models.CharField(primary_key=True, max_length=ID_LENGTH)
    operation = models.ForeignKey(
        RefundOperation, on_delete=models.PROTECT, related_name="attempts", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    provider = models.CharField(max_length=40)
    api_version = models.CharField(max_length=40)
    account = models.CharField(max_length=64, blank=True)
    livemode = models.BooleanField(null=True, help_text="Whether the credentials were for real money.")
    idempotency_key = models.CharField(max_length=255)
    request_fingerprint = models.CharField(max_length=64)
    request_body_sha256 = models.CharField(max_length=64)
    system_version = models.CharField(max_length=40)
    trace_id = models.CharField(max_length=64, blank=True)
    started_at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "gateway_attempts"
        constraints = [
            models.UniqueConstraint(fields=["operation", "number"], name="attempt_number_once"),
        ]

    def __str__(self) -> str:
        return f"{self.operation_id} #{self.number}"


class GatewayResponse(AppendOnlyModel):
    """What one call taught us. An attempt without a response is what recovery treats as unknown."""

    attempt = models.OneToOneField(
        GatewayAttempt, on_delete=models.PROTECT, related_name="response", primary_key=True
    )
    answer_class = models.CharField(max_length=16)
    http_status = models.PositiveSmallIntegerField(null=True)
    error_type = models.CharField(max_length=80, blank=True)
    error_code = models.CharField(max_length=80, blank=True)
    processor_reference = models.CharField(max_length=255, blank=True)
    provider_status = models.CharField(max_length=40, blank=True)
    provider_request_id = models.CharField(max_length=255, blank=True)
    replayed = models.BooleanField(default=False)
    retry_forbidden = models.BooleanField(default=False, db_default=False)
    went_back_before = models.BooleanField(
        default=False, db_default=False, help_text="Refused because money of the payment is back already."
    )
    body_sha256 = models.CharField(max_length=64, blank=True)
    detail = models.CharField(max_length=200, blank=True)
    received_at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "gateway_responses"

    def __str__(self) -> str:
        return f"{self.attempt_id} {self.answer_class}"


class ReconciliationCheck(AppendOnlyModel):
    """One look at what really happened (stage 11): every source asked, what it proved, and the verdict."""

    operation = models.ForeignKey(
        RefundOperation, on_delete=models.PROTECT, related_name="checks", db_index=False
    )
    number = models.PositiveIntegerField()
    cause = models.CharField(max_length=12, default=CheckCause.SCHEDULED)
    verdict = models.CharField(max_length=24)
    sources = models.JSONField()
    explanation = models.JSONField()
    processor_reference = models.CharField(max_length=255, blank=True)
    at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "reconciliation_checks"
        constraints = [
            models.UniqueConstraint(fields=["operation", "number"], name="check_number_once"),
        ]

    def __str__(self) -> str:
        return f"{self.operation_id} #{self.number} {self.verdict}"
