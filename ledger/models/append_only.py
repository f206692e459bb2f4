"""Rows that are written once: refused an UPDATE or DELETE by Django here, and by PostgreSQL underneath."""

from typing import Any, NoReturn

import pgtrigger
from django.db import models


class AppendOnlyError(TypeError):
    """If you see this, code tried to change evidence. Append a new row that says what is now known."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    """A query set that can only read and insert."""

    def update(self, **_kwargs: Any) -> NoReturn:
        """Refuse."""
        raise AppendOnlyError(f"{self.model.__name__} rows never change.")

    def bulk_update(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse."""
        raise AppendOnlyError(f"{self.model.__name__} rows never change.")

    def delete(self) -> NoReturn:
        """Refuse."""
        raise AppendOnlyError(f"{self.model.__name__} rows are never deleted.")


class AppendOnlyModel(models.Model):
    """Base of event, attempt, response, check, outbox and publication tables.

    A subclass's ``Meta`` extends ``AppendOnlyModel.Meta``, or it loses the trigger (a test counts them).
    TRUNCATE is kept from the application by its database role, since a trigger would also stop test set-up.
    """

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True
        triggers: list[pgtrigger.Trigger] = [
            pgtrigger.Protect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete),
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Insert a new row; refuse to change an old one."""
        if not self._state.adding:
            raise AppendOnlyError(f"{type(self).__name__} rows never change.")
        super().save(*args, **kwargs)

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Refuse."""
        raise AppendOnlyError(f"{type(self).__name__} rows are never deleted.")
