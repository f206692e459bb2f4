"""Where the statements of one automatic refund go: the pipeline in this process, one step after another.

``manage.py bench_stages`` runs it. Counted twice, by Django's log and by the server: they have to agree.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import psycopg
from django.conf import settings
from django.test import Client

from config.demo.bench.database import Statements, is_at_commit
from config.demo.bench.statements import commits_of, recording
from ledger.clock import now_utc
from refunds import pipeline, tasks
from refunds.gateways.registry import get_gateway
from refunds.models import RefundWorkflow
from refunds.nudges import DELIVER

CREATED: Final = 201
_CALLS: Final = """
    SELECT query, calls FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
     WHERE d.datname = %s AND s.toplevel
"""


class Steps:
    """Runs named steps and keeps what each sent."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        database = settings.DATABASES["default"]
        names = {"host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
        where = {key: database[name] for key, name in names.items()}
        # Another database of the same server, so that counting is not counted.
        self._server = psycopg.connect(**where, dbname="postgres", autocommit=True)
        self._database = str(database["NAME"])

    def take(self, name: str, step: Callable[[], Any]) -> Any:
        """Run one step; return what it returned."""
        before = self._counted()
        with recording() as statements:
            result = step()
        after = self._counted()
        self.found.append(
            {
                "name": name,
                "sent": after.sent - before.sent,
                "at_commit": after.at_commit - before.at_commit,
                "seen": len(statements),
                "commits": commits_of([statement.sql for statement in statements]),
                "statements": [[statement.kind, statement.where] for statement in statements],
            }
        )
        return result

    def _counted(self) -> Statements:
        rows = self._server.execute(_CALLS, [self._database]).fetchall()
        at_commit = sum(calls for query, calls in rows if is_at_commit(query))
        return Statements(sum(calls for _, calls in rows) - at_commit, at_commit)


def refund_once(*, token: str, order: str) -> list[dict[str, Any]]:
    """Take one request from its POST to its published evidence; raises SystemExit when it ends elsewhere."""
    client = Client(headers={"Authorization": f"Token {token}", "host": "127.0.0.1"})
    body = {"message": f"I was charged twice for order {order}.", "order_number": order}

    def post() -> str:
        answer = client.post("/api/v1/refund-requests", body, content_type="application/json")
        if answer.status_code != CREATED:
            raise SystemExit(f"the API answered {answer.status_code}: {answer.content[:300]!r}")
        return str(answer.json()["workflow_id"])

    steps = Steps()
    workflow_id = steps.take("POST (stages 1 and 2)", post)
    nudges = steps.take(
        "advance_workflow (3 to 9)",
        lambda: pipeline.advance_workflow(workflow_id=workflow_id, clock=now_utc),
    )
    gateway = get_gateway()
    for nudge in nudges:
        if nudge.task == "submit_operation":
            submit = partial(pipeline.submit_operation, gateway=gateway, clock=now_utc)
            steps.take("submit_operation (10)", partial(submit, **nudge.kwargs))
    steps.take(f"{DELIVER.task} (13)", getattr(tasks, DELIVER.task))
    steps.take("relay_audit_outbox (shared)", tasks.relay_audit_outbox)
    workflow = RefundWorkflow.objects.get(pk=workflow_id)
    if workflow.state != "COMPLETED":
        raise SystemExit(f"the refund ended in {workflow.state} ({workflow.reason_code})")
    return steps.found
