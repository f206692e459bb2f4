"""Counts that every process adds to, kept in PostgreSQL so that each of them shows the same."""

from django.db import connection, models


class Tally(models.Model):
    """How often something happened since the desk began; for counts that no other row holds."""

    name = models.CharField(max_length=60, primary_key=True)
    total = models.BigIntegerField(default=0)

    class Meta:
        db_table = "tallies"
        verbose_name_plural = "tallies"

    def __str__(self) -> str:
        return f"{self.name}: {self.total}"

    @staticmethod
    def add(name: str) -> None:
        """Count one more, in one statement."""
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO tallies (name, total) VALUES (%s, 1)"
                " ON CONFLICT (name) DO UPDATE SET total = tallies.total + 1",
                [name],
            )
