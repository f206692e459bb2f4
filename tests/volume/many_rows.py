"""Very many rows at once: copies of one row under other keys, made by one statement each, with triggers suspended.

A copy has no history and no counterparts: it stands for what years of finished work leave in the tables that
scanners read, and for nothing else.
"""

from collections.abc import Mapping

from django.db import connection, models


def suspend_triggers():
    """Let this session write rows that no event explains; it must be the owner's."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")


def resume_triggers():
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = DEFAULT")


def copy_rows(row: models.Model, *, first: int, count: int, columns: Mapping[str, str]) -> None:
    """Insert ``count`` copies of a stored row; ``columns`` are SQL expressions over ``n``, from ``first`` on."""
    table = row._meta.db_table
    names = [field.column for field in row._meta.concrete_fields if field.column not in generated(row)]
    values = [columns.get(name, f'o."{name}"') for name in names]
    unknown = set(columns) - set(names)
    assert not unknown, f"{table} has no {sorted(unknown)}"
    quoted = ", ".join(f'"{name}"' for name in names)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({quoted}) SELECT {', '.join(values)} FROM {table} o,"
            f" generate_series(%s::bigint, %s::bigint) n WHERE o.{row._meta.pk.column} = %s",
            [first, first + count - 1, row.pk],
        )


def generated(row: models.Model) -> set[str]:
    """Return the columns that the database numbers itself."""
    key = row._meta.pk
    return {key.column} if isinstance(key, models.AutoField) else set()


def analyze(*tables: models.Model | type[models.Model]) -> None:
    """Let the planner know what is in these tables, as autovacuum would."""
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"VACUUM ANALYZE {table._meta.db_table}")
