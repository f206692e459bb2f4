"""No gateway verb runs inside a database transaction; each case is a process with its own Django."""

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_BEGIN = """
from django.conf import settings
settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
import django
django.setup()
from django.db import connection, transaction
from refunds.gateways.fake import FakeGateway
from ledger.transaction_guard import OpenTransactionError, refuse_open_transaction
from tests.gateways.builders import refund_command, stripe_gateway_at

def refused(call):
    try:
        call()
    except OpenTransactionError as error:
        assert str(error) == "a transaction is open on the connection 'default'", error
        return True
    return False
"""
_CASES = {
    "a transaction of any kind is refused": """
connection.ensure_connection()
assert not refused(refuse_open_transaction)
with transaction.atomic():
    assert refused(refuse_open_transaction)
    with transaction.atomic():
        assert refused(refuse_open_transaction)
assert not refused(refuse_open_transaction)
transaction.set_autocommit(False)
assert refused(refuse_open_transaction)
transaction.set_autocommit(True)
assert not refused(refuse_open_transaction)
""",
    "the transaction of a test case is not counted": """
from django.test import TestCase
atomics = TestCase._enter_atomics()
assert connection.in_atomic_block
assert not refused(refuse_open_transaction)
with transaction.atomic():
    assert refused(refuse_open_transaction)
assert not refused(refuse_open_transaction)
TestCase._rollback_atomics(atomics)
""",
    "every verb asks": """
fake = FakeGateway()
for gateway in (fake, stripe_gateway_at("http://127.0.0.1:9")):
    for call in (
        lambda: gateway.submit_refund(refund_command()),
        lambda: gateway.list_refunds(payment_reference="ch_A2", account=""),
        lambda: gateway.retrieve_refund(processor_reference="re_1", account=""),
    ):
        with transaction.atomic():
            assert refused(call)
        assert not refused(call)
assert len(fake.submissions) == 1
""",
}


@pytest.mark.parametrize("case", _CASES.values(), ids=list(_CASES))
def test_guard(case: str) -> None:
    subprocess.run([sys.executable, "-c", _BEGIN + case], cwd=_ROOT, check=True, timeout=60)


def test_without_django_settings_there_is_nothing_to_refuse() -> None:
    script = "from ledger.transaction_guard import refuse_open_transaction as r; r()"
    subprocess.run(
        [sys.executable, "-c", script], cwd=_ROOT, check=True, timeout=60, env={"PATH": "/usr/bin:/bin"}
    )
