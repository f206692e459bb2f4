import tempfile
from pathlib import Path

import psycopg
import pytest

from config.demo.bench.database import SETTINGS, Counters, Wal, is_at_commit, read_dump
from config.demo.services import accounts, binaries, cluster, postgres

TABLES = """
    CREATE TABLE parents (id int PRIMARY KEY);
    INSERT INTO parents VALUES (1);
    CREATE TABLE children (parent int REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
    CREATE FUNCTION has_parent() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NOT EXISTS (SELECT 1 FROM parents WHERE id = NEW.parent) THEN RAISE EXCEPTION 'none'; END IF;
            RETURN NULL;
        END $$;
    CREATE CONSTRAINT TRIGGER told AFTER INSERT ON children DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION has_parent();
"""


@pytest.fixture(scope="module")
def server():
    settings = {**SETTINGS, "synchronous_commit": "on", "shared_buffers": "32MB", "min_wal_size": "80MB"}
    with tempfile.TemporaryDirectory(prefix="refund-desk-test-") as folder:
        Path(folder).chmod(0o755)
        made = cluster.Cluster(Path(folder) / "postgres", accounts.server_user())
        running = postgres.start(
            made,
            log=Path(folder) / "log",
            durable=False,
            check=lambda: None,
            say=lambda _text: None,
            more_settings=settings,
        )
        try:
            with psycopg.connect(running.url, autocommit=True) as connection:
                connection.execute(TABLES)
            yield running
        finally:
            running.stop()


@pytest.fixture
def counters(server):
    programs = binaries.installation(accounts.server_user())
    counting = Counters(server.url, data=server.cluster.data, programs=programs)
    yield counting
    counting.close()


def test_statements_that_were_sent_are_told_from_those_that_constraints_ran(server, counters):
    with psycopg.connect(server.url, autocommit=True) as product:
        counters.reset_statements()
        with product.transaction():
            product.execute("INSERT INTO children VALUES (1)")
            product.execute("INSERT INTO children VALUES (1)")
        product.execute("SELECT count(*) FROM children")
    counted = counters.statements()
    assert counted.sent == 5  # BEGIN, two INSERTs, COMMIT, SELECT
    assert counted.at_commit == 4  # a foreign key and a trigger for each row


def test_what_the_watcher_and_other_databases_ask_is_not_counted(server, counters):
    url = counters.add_watcher(server.url)
    counters.reset_statements()
    with (
        psycopg.connect(url, autocommit=True) as watcher,
        psycopg.connect(server.url, dbname="postgres") as other,
    ):
        watcher.execute("SELECT count(*) FROM children")
        other.execute("SELECT 1")
    assert counters.statements().sent == 0


def test_only_transactions_that_wrote_are_commits(server, counters):
    with psycopg.connect(server.url) as product:
        start = counters.position()
        product.execute("INSERT INTO children VALUES (1)")
        product.commit()
        product.execute("SELECT * FROM parents FOR NO KEY UPDATE")
        product.commit()
        product.execute("SELECT * FROM parents")
        product.commit()
        product.execute("INSERT INTO children VALUES (1)")
        product.rollback()
        counted = counters.wal(start, counters.position())
    assert counted.commits == 2  # the one that inserted and the one that locked
    assert counted.size > 0


def test_an_empty_stretch_of_the_log_has_nothing_in_it(counters):
    here = counters.position()
    assert counters.wal(here, here) == Wal(0, 0, 0)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            'SELECT $2 FROM ONLY "public"."orders" x WHERE "id" OPERATOR(pg_catalog.=) $1 FOR KEY SHARE OF x',
            True,
        ),
        ("NOT EXISTS (\n SELECT $1 FROM refund_workflow_events e WHERE e.workflow_id = NEW.id)", True),
        (
            'SELECT "id" FROM "refund_workflows" WHERE "id" = $1 FOR NO KEY UPDATE OF "refund_workflows"',
            False,
        ),
        ("BEGIN", False),
        ("COMMIT", False),
        ("RELEASE SAVEPOINT $1", False),
        ("WITH a AS (SELECT $1) SELECT * FROM a", False),
    ],
)
def test_statements_of_constraints_are_known_by_their_form(query, expected):
    assert is_at_commit(query) is expected


def test_the_dump_is_read():
    dump = """
Type                                           N      (%)          Record size      (%)             FPI size      (%)        Combined size      (%)
----                                           -      ---          -----------      ---             --------      ---        -------------      ---
Heap/INSERT                                   12 ( 60.00)                 1200 ( 70.00)                 8192 (100.00)                 9392 ( 90.00)
Transaction/COMMIT                             7 ( 35.00)                  238 ( 20.00)                    0 (  0.00)                  238 (  5.00)
Transaction/ABORT                              1 (  5.00)                   34 ( 10.00)                    0 (  0.00)                   34 (  5.00)
                                        --------                      --------                      --------                      --------
Total                                         20                          1472 [15.23%]                 8192 [84.77%]                 9664 [100%]
"""
    assert read_dump(dump, size=10_000) == Wal(commits=7, size=10_000, page_images=8192)
