"""What was said, proposed and checked on the way to a decision: append-only."""

from django.db import models

from ledger.models import AppendOnlyModel, ErasableText
from refunds.models.workflow import RefundWorkflow


class CustomerMessage(AppendOnlyModel):
    """Something the customer wrote; the words themselves are erasable, their digest stays."""

    workflow = models.ForeignKey(RefundWorkflow, on_delete=models.PROTECT, related_name="messages")
    text = models.ForeignKey(ErasableText, on_delete=models.PROTECT, related_name="+", db_index=False)
    text_sha256 = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "customer_messages"

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.at:%F %T}"


class Proposal(AppendOnlyModel):
    """What a proposer recommended, untrusted (stage 6). It has no field for an amount or a target, on purpose."""

    workflow = models.ForeignKey(
        RefundWorkflow, on_delete=models.PROTECT, related_name="proposals", db_index=False
    )
    command_number = models.PositiveIntegerField()
    proposer = models.CharField(max_length=40)
    model_snapshot = models.CharField(max_length=120, blank=True)
    prompt_version = models.CharField(max_length=40, blank=True)
    recommended_action = models.CharField(max_length=40, blank=True)
    reason_code = models.CharField(max_length=60, blank=True)
    requires_human_review = models.BooleanField(null=True, help_text="Recorded as given; never read.")
    draft = models.ForeignKey(
        ErasableText, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    output_sha256 = models.CharField(max_length=64, blank=True)
    output_class = models.CharField(max_length=20)  # VALID, REPAIRABLE, REJECT
    detail = models.CharField(max_length=120, blank=True)
    requests = models.PositiveSmallIntegerField(default=0)
    latency_ms = models.PositiveIntegerField(default=0)
    at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "proposals"
        constraints = [
            models.UniqueConstraint(fields=["workflow", "command_number"], name="proposal_once_per_command"),
        ]

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.recommended_action}"


class RuleResult(AppendOnlyModel):
    """The result of one check of stage 7, with what it looked at."""

    workflow = models.ForeignKey(
        RefundWorkflow, on_delete=models.PROTECT, related_name="rule_results", db_index=False
    )
    command_number = models.PositiveIntegerField()
    rule = models.CharField(max_length=40)
    rule_version = models.CharField(max_length=20)
    result = models.CharField(max_length=10)  # PASS, FAIL, NOT_RUN
    outcome = models.CharField(max_length=16)  # CONTINUE, REJECT, NEEDS_PERSON
    inputs = models.JSONField()
    policy_version = models.CharField(max_length=80)
    at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "rule_results"
        constraints = [
            models.UniqueConstraint(
                fields=["workflow", "command_number", "rule"], name="rule_once_per_command"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.result}"
