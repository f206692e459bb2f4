import pytest
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection, transaction

from ledger.app_role import app_role_sql
from refunds.states import OperationState
from tests.factories import operation_in_state

pytestmark = pytest.mark.django_db(transaction=True)
ROLE = "refund_desk_app_test"


@pytest.fixture
def as_app():
    """Run statements as the application's role of production."""
    operation_in_state(OperationState.COMPLETED)
    with connection.cursor() as cursor:
        cursor.execute(f"DROP ROLE IF EXISTS {ROLE}_{connection.settings_dict['NAME']}")
        role = f"{ROLE}_{connection.settings_dict['NAME']}"
        cursor.execute(f"CREATE ROLE {role}")
        cursor.execute(app_role_sql(role))

    def run(statement):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL ROLE {role}")
            cursor.execute(statement)
            return cursor.rowcount

    yield run
    with connection.cursor() as cursor:
        cursor.execute(f"DROP OWNED BY {role}")
        cursor.execute(f"DROP ROLE {role}")


@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE refund_operation_events",
        "TRUNCATE audit_outbox CASCADE",
        "UPDATE refund_operation_events SET reason = 'X'",
        "DELETE FROM gateway_attempts",
        "UPDATE audit_outbox SET topic = 'X'",
        "DELETE FROM refund_operations",
        "DELETE FROM knowledge_documents",
        "UPDATE knowledge_document_events SET reason = 'X'",
        "DELETE FROM knowledge_document_events",
        "ALTER TABLE refund_operations DISABLE TRIGGER ALL",
        "DROP TABLE audit_outbox",
    ],
)
def test_the_role_may_not_touch_evidence(as_app, statement):
    with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
        as_app(statement)


def test_the_role_may_do_its_work(as_app):
    assert as_app("UPDATE refund_operations SET checks_made = checks_made + 1") == 1
    assert as_app("UPDATE knowledge_documents SET updated_at = now()") == 0
    assert as_app("DELETE FROM heartbeats") == 0


def test_a_role_that_is_no_identifier_is_refused():
    with pytest.raises(CommandError):
        call_command("app_role_sql", "x; DROP TABLE refund_operations")
