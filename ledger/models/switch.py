"""Switches that an operator turns while everything runs, kept in PostgreSQL so that every process sees the same."""

from django.db import models


class Switch(models.Model):
    """One switch; a switch without a row is on."""

    name = models.CharField(max_length=60, primary_key=True)
    is_on = models.BooleanField()
    reason = models.CharField(max_length=200, blank=True)
    changed_by = models.CharField(max_length=80)
    changed_at = models.DateTimeField()

    class Meta:
        db_table = "switches"
        verbose_name_plural = "switches"

    def __str__(self) -> str:
        return f"{self.name}: {'on' if self.is_on else 'off'}"
