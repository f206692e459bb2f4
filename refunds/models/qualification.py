"""Which models were evaluated, how it went, and what is declared about them: append-only, the newest row counts."""

from django.db import models
from django.db.models import F, Q

from ledger.models import AppendOnlyModel


class ModelQualification(AppendOnlyModel):
    """One evaluation of one model in one configuration; ``manage.py qualify_model`` writes it.

    ``configuration_sha256`` is what must agree for the model to be asked; the columns beside it say what was
    digested, but for the address, which may hold a password: of it there is the host.
    """

    model = models.CharField(max_length=120)
    endpoint_host = models.CharField(max_length=255)
    endpoint_sha256 = models.CharField(max_length=64)
    configuration_sha256 = models.CharField(max_length=64)
    parameters = models.JSONField()
    prompt_version = models.CharField(max_length=40)
    schema_version = models.CharField(max_length=20)
    snapshot = models.CharField(max_length=200, help_text="What the server called itself in every answer.")
    response_form = models.CharField(max_length=20)
    set_version = models.CharField(max_length=20)
    set_sha256 = models.CharField(max_length=64)
    attempts = models.PositiveSmallIntegerField(help_text="How often every row was asked; all had to hold.")
    areas = models.JSONField(help_text="Rows, and rows that held in every attempt, by area.")
    faults = models.JSONField(
        default=list, help_text="What did not hold, by row and attempt; the first ones."
    )
    requests = models.PositiveIntegerField()
    latency_p95_ms = models.PositiveIntegerField()
    declared = models.JSONField(help_text="What the operator declares: privacy and residency.")
    passed = models.BooleanField()
    at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "model_qualifications"
        constraints = [
            models.CheckConstraint(condition=Q(expires_at__gt=F("at")), name="qualification_expires_later"),
            models.CheckConstraint(
                condition=Q(passed=False) | (~Q(snapshot="") & ~Q(response_form="")),
                name="qualification_is_of_somebody",
            ),
        ]
        indexes = [
            models.Index(fields=["configuration_sha256", "-id"], name="qualification_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.model} {'passed' if self.passed else 'failed'} {self.at:%F}"
