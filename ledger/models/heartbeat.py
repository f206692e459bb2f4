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

    @classmethod
    def record(cls, name: str, *, now: datetime, **summary: int) -> None:
        """Write this job's sign of life, one row per job."""
        cls.objects.update_or_create(name=name, defaults={"beat_at": now, "summary": summary})
