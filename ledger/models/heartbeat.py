"""Signs of life, kept in PostgreSQL because Redis may be wiped."""

from datetime import datetime

from django.db import models


class Heartbeat(models.Model):
    """When a recurring job last ran to its end, and what it found."""

    name = models.CharField(max_length=60, primary_key=True)
    beat_at = models.DateTimeField()
    summary = models.JSONField(default=dict)

    class Meta:
        db_table = "heartbeats"

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def record(name: str, *, now: datetime, **summary: int) -> None:
        """Write this job's sign of life, one row per job, in one statement."""
        Heartbeat.objects.bulk_create(
            [Heartbeat(name=name, beat_at=now, summary=summary)],
            update_conflicts=True,
            unique_fields=["name"],
            update_fields=["beat_at", "summary"],
        )
