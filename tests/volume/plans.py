"""What one query reads, as PostgreSQL itself measures it."""

import json
from dataclasses import dataclass

from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext


@dataclass(frozen=True)
class Plan:
    """The nodes of one executed plan, the pages that it touched, and its time."""

    sql: str
    nodes: tuple[str, ...]
    indexes: tuple[str, ...]
    buffers: int
    removed: int  # rows that were read and then left out by a filter
    milliseconds: float

    def __str__(self) -> str:
        return (
            f"{' < '.join(self.nodes)} using {', '.join(self.indexes)}: "
            f"{self.buffers} pages, {self.removed} rows left out, {self.milliseconds:.2f} ms"
        )


def selects_of(call):
    """Return the SELECT statements of a call, as they are sent; what the call writes is undone."""
    with CaptureQueriesContext(connection) as queries, transaction.atomic():
        call()
        transaction.set_rollback(True)
    return [query["sql"] for query in queries if query["sql"].startswith("SELECT")]


def explain(sql: str) -> Plan:
    """Run a statement twice and measure the second time; its locks and effects are undone."""
    with transaction.atomic(), connection.cursor() as cursor:
        for _ in range(2):
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql.replace('%', '%%')}", [])
            (found,) = cursor.fetchone()
        transaction.set_rollback(True)
    (document,) = found if isinstance(found, list) else json.loads(found)
    nodes = list(_walk(document["Plan"]))
    top = document["Plan"]
    return Plan(
        sql=sql,
        nodes=tuple(node["Node Type"] for node in nodes),
        indexes=tuple(node["Index Name"] for node in nodes if "Index Name" in node),
        buffers=top["Shared Hit Blocks"] + top["Shared Read Blocks"],
        removed=sum(node.get("Rows Removed by Filter", 0) for node in nodes),
        milliseconds=document["Execution Time"],
    )


def _walk(node):
    yield node
    for child in node.get("Plans", []):
        yield from _walk(child)
