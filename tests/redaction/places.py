"""Every place in which words could be left: all rows of all tables, sessions, and the messages of a model."""

import json

from django.contrib.sessions.models import Session
from django.db import connection

from ledger.intake import MAX_MESSAGE


def every_column():
    """Return each row of each table as JSON: whatever a column's type is, its text is in it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
        )
        names = [name for (name,) in cursor.fetchall()]
        assert {"erasable_texts", "audit_outbox", "customer_messages", "django_session"} <= set(names)
        dump = {}
        for name in names:
            cursor.execute(f'SELECT row_to_json(t)::text FROM "{name}" t')
            dump[name] = "\n".join(row for (row,) in cursor.fetchall())
    dump["sessions"] = json.dumps([session.get_decoded() for session in Session.objects.all()])
    return dump


def in_messages(rows, *, between="\nand then\n"):
    """Return the rows in as few messages as the length of one allows, as pairs of rows and text."""
    batches, batch = [], []
    for row in rows:
        if len(between.join([*(kept.text for kept in batch), row.text])) > MAX_MESSAGE - 500:
            batches.append(batch)
            batch = []
        batch.append(row)
    return [(batch, between.join(row.text for row in batch)) for batch in [*batches, batch]]
