"""Several writes as one statement, so that a transition costs one round trip: its row, its event, its audit event.

PostgreSQL runs every ``WITH`` part of a statement exactly once, whether or not the end reads it
(www.postgresql.org/docs/current/queries-with.html). The parts are compiled by Django's own ORM.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, models
from django.db.models import sql


@dataclass(frozen=True, slots=True)
class Write:
    """One compiled INSERT or UPDATE, and the primary key column that it returns."""

    text: str
    params: tuple[Any, ...]
    returns: str


class RowGoneError(RuntimeError):
    """If you see this, a part of a statement found no row: it moved since it was read, without a lock."""


def insertion(row: models.Model) -> Write:
    """Return the INSERT of an unsaved row; a generated primary key or column is left to the database."""
    meta = row._meta  # noqa: SLF001 - Django's public metadata API
    fields = [
        field
        for field in meta.local_concrete_fields
        if not (field.generated or (isinstance(field, models.AutoField) and row.pk is None))
    ]
    query = sql.InsertQuery(type(row))
    query.insert_values(fields, [row])
    ((text, params),) = query.get_compiler(connection=connection).as_sql()
    return Write(text, tuple(params), _pk_column(row))


def update(row: models.Model, fields: Sequence[str], **expected: Any) -> Write:
    """Return the UPDATE of named fields to what the object holds, if the stored row is still as ``expected``."""
    meta = row._meta  # noqa: SLF001
    columns: list[Any] = [meta.get_field(name) for name in dict.fromkeys(fields)]
    values = [(column, None, column.pre_save(row, False)) for column in columns]  # noqa: FBT003 - Django's own
    wanted = type(row)._base_manager.filter(pk=row.pk, **expected)  # noqa: SLF001
    query: Any = wanted.query.chain(sql.UpdateQuery)
    query.add_update_fields(values)
    text, params = query.get_compiler(connection=connection).as_sql()
    return Write(text, tuple(params), _pk_column(row))


def run(*writes: Write) -> tuple[Any, ...]:
    """Run all writes as one statement and return each row's primary key; each must write exactly one row."""
    parts = [f"w{n} AS ({write.text} RETURNING {write.returns})" for n, write in enumerate(writes)]
    picked = ", ".join(f"(SELECT * FROM w{n})" for n in range(len(writes)))  # noqa: S608 - names made here
    params = [param for write in writes for param in write.params]
    with connection.cursor() as cursor:
        cursor.execute(f"WITH {', '.join(parts)} SELECT {picked}", params)
        keys: tuple[Any, ...] = cursor.fetchone()
    if any(key is None for key in keys):
        raise RowGoneError([write.text.split(maxsplit=3)[:3] for write in writes])
    return keys


def _pk_column(row: models.Model) -> str:
    meta = row._meta  # noqa: SLF001
    if meta.pk is None:
        raise TypeError(f"{meta.label} has no primary key")
    return f"{connection.ops.quote_name(meta.db_table)}.{connection.ops.quote_name(str(meta.pk.column))}"
