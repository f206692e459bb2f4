"""The questions that the recipes ask of the rows can find something."""

import time

import psycopg
import pytest
from django.db import connection

from tests.support.deployed import database_url_of_tests
from tests.support.invariants import broken

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_a_transaction_that_is_held_open_is_found():
    with psycopg.connect(database_url_of_tests()) as other, connection.cursor() as cursor:
        other.execute("SELECT 1")
        time.sleep(2.1)
        assert broken(cursor) == {"HELD_OPEN": [str(other.info.backend_pid)]}
