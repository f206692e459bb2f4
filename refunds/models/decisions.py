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


class ModelAnswer(AppendOnlyModel):
    """What is kept of every question to a model and of its answer, beside the answer itself.

    The digests and parameters say exactly what was asked: the prompt's file, the document in the user message, the
    whole request. They are empty where nothing left the process; what people wrote is not kept a second time.
    """

    model_snapshot = models.CharField(max_length=120, blank=True)
    prompt_version = models.CharField(max_length=40, blank=True)
    prompt_sha256 = models.CharField(max_length=64, blank=True)
    context_sha256 = models.CharField(max_length=64, blank=True)
    request_sha256 = models.CharField(max_length=64, blank=True)
    parameters = models.JSONField(default=dict, blank=True)
    output_class = models.CharField(max_length=20)  # VALID, REPAIRABLE, REJECT
    detail = models.CharField(max_length=120, blank=True)
    requests = models.PositiveSmallIntegerField(default=0)
    latency_ms = models.PositiveIntegerField(default=0)

    class Meta(AppendOnlyModel.Meta):
        abstract = True


class Proposal(ModelAnswer):
    """What a proposer recommended, untrusted (stage 6). It has no field for an amount or a target, on purpose."""

    workflow = models.ForeignKey(
        RefundWorkflow, on_delete=models.PROTECT, related_name="proposals", db_index=False
    )
    command_number = models.PositiveIntegerField()
    proposer = models.CharField(max_length=40)
    recommended_action = models.CharField(max_length=40, blank=True)
    reason_code = models.CharField(max_length=60, blank=True)
    requires_human_review = models.BooleanField(null=True, help_text="Recorded as given; never read.")
    draft = models.ForeignKey(
        ErasableText, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    output_sha256 = models.CharField(max_length=64, blank=True)
    documents = models.JSONField(
        default=list, blank=True, help_text="Which paragraphs of which house texts the model was given."
    )
    at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "proposals"
        constraints = [
            models.UniqueConstraint(fields=["workflow", "command_number"], name="proposal_once_per_command"),
        ]

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.recommended_action}"


class MessageReading(ModelAnswer):
    """What a model made of a customer's words while their request named no order: a hint for pages, never a fact.

    ``order_hint`` is the number of an own order of this very customer that stands in those words, or HINT_UNKNOWN for
    any other. Nothing that the model wrote is kept but the members of closed lists, and a digest.
    """

    HINT_UNKNOWN = "HINT_UNKNOWN"

    workflow = models.ForeignKey(RefundWorkflow, on_delete=models.PROTECT, related_name="readings")
    message = models.OneToOneField(CustomerMessage, on_delete=models.PROTECT, related_name="reading")
    reader = models.CharField(max_length=40)
    output_sha256 = models.CharField(max_length=64)
    intent = models.CharField(max_length=40, blank=True)
    problem = models.CharField(max_length=40, blank=True)
    language = models.CharField(max_length=3, blank=True)
    order_hint = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "message_readings"

    def __str__(self) -> str:
        return f"{self.workflow_id} {self.intent or self.output_class}"


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
