"""What several failures need: a request on its way, what its customer is told, hands in both sides' books."""

import sqlite3
from contextlib import contextmanager
from urllib.parse import parse_qsl

from django.db import connection

from refunds.gateways.stripe import StripeGateway
from refunds.models import RefundWorkflow
from refunds.nudges import advance, submit
from tests.api.calls import URL, token_client


def executable(desk, **columns):
    """Return a duplicate order and its request's operation, committed and not yet sent."""
    made = desk.duplicate(desk.customer(), **columns)
    workflow_id = desk.ask(made.order, run=False)
    desk.run_one(advance(workflow_id))
    operation = desk.operation(workflow_id)
    assert operation.state == "CREATED"
    return made, operation


def send(desk, operation):
    """Submit once, and nothing after it; return the operation as it is stored then."""
    desk.run_one(submit(operation.pk))
    return desk.operation(operation.workflow_id)


def told(workflow_id):
    """Return what the customer reads about their request, over the API."""
    customer = RefundWorkflow.objects.select_related("customer__user").get(pk=workflow_id).customer
    response = token_client(customer.user).get(f"{URL}/{workflow_id}")
    assert response.status_code == 200
    return response.json()


def words_of(document):
    """Return the status of a request as one text."""
    return " ".join(document["status"][part] for part in ("heading", "body", "next"))


def sent_form(post):
    """Return the form that one POST carried."""
    return dict(parse_qsl(post["body"]))


def rewrite_refunds(simulator, **columns):
    """Change columns of every refund in the provider's book, behind its back."""
    assignments = ", ".join(f"{name} = ?" for name in columns)
    with sqlite3.connect(simulator.book, timeout=10) as book:
        book.execute(f"UPDATE refunds SET {assignments}", list(columns.values()))
    book.close()


def patient(desk):
    """Return a gateway that waits for its answer for as long as the test holds it."""
    return StripeGateway(
        api_key=desk.sim.api_key, api_base=desk.sim.url, connect_timeout_seconds=2, answer_timeout_seconds=30
    )


@contextmanager
def inserts_fail(table):
    """Let PostgreSQL refuse every row of a table, as a full disk or a broken constraint would."""
    function = """
        CREATE FUNCTION planted_fault() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = 'check_violation'; END $$
    """
    trigger = (
        f"CREATE TRIGGER planted_fault BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION planted_fault()"
    )
    with connection.cursor() as cursor:
        for statement in (function, trigger):
            cursor.execute(statement)
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION planted_fault() CASCADE")
