"""The product as processes, one Chromium for all browser tests, and what is kept when one fails.

Rows stay for the whole of a subfolder, as in a real desk: each test makes a merchant of its own.
"""

import os
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import setup_databases, teardown_databases
from playwright.sync_api import expect, sync_playwright

from tests.browser.browsing import ARGUMENTS, CHROMIUM, PATIENCE_MS, Browsing
from tests.browser.shop import Shop
from tests.support.product import Product

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Keep these tests together and mark them; a random order would start the product again and again."""
    mine = [item for item in items if item.path.is_relative_to(_HERE)]
    for item in mine:
        item.add_marker(pytest.mark.slow)
        item.add_marker(pytest.mark.timeout(240, func_only=True))  # starting the product is not counted
    others = [item for item in items if not item.path.is_relative_to(_HERE)]
    items[:] = others + sorted(mine, key=lambda item: item.path.parent)


@pytest.fixture(scope="package")
def chromium():
    """A headless Chromium without any net of its own."""
    playwright = _start_playwright()
    expect.set_options(timeout=PATIENCE_MS)  # a busy machine answers late
    try:
        yield playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
    finally:
        playwright.stop()


def _start_playwright():
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is missing: apt-get install chromium")
    try:
        return sync_playwright().start()
    except OSError as missing:
        pytest.skip(f"playwright's driver cannot be started here: {missing}")


@pytest.fixture(scope="package")
def database(chromium, django_db_blocker):
    """A database that lives as long as the processes do: none of its rows is another test's."""
    own = f"test_browser_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        # Playwright's loop stands still while a test asks the database; Django can't know that.
        patch.setitem(os.environ, "DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        patch.setitem(connection.settings_dict["TEST"], "NAME", own)
        connection.close()
        connection.close_pool()
        made = setup_databases(verbosity=0, interactive=False, aliases={"default"}, serialized_aliases=set())
        try:
            yield
        finally:
            teardown_databases(made, verbosity=0)


@pytest.fixture(scope="package")
def product(database, tmp_path_factory):
    """Pages and simulators; workers come with the flows."""
    running = Product(folder=tmp_path_factory.mktemp("product"))
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture
def shop(product):
    return Shop(product.gateway)


@pytest.fixture
def browsing(chromium, product, tmp_path):
    made = Browsing(chromium, product.url, tmp_path)
    yield made
    made.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A test whose pages had silent errors has failed."""
    result = yield
    if browsing := item.funcargs.get("browsing"):
        browsing.assert_nothing_went_wrong()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Keep what every browser of a failed test showed, and say where."""
    report = yield
    browsing = item.funcargs.get("browsing") if hasattr(item, "funcargs") else None
    if report.when == "call" and report.failed and browsing:
        report.sections.append(("browser log", f"screenshots and traces: {browsing.keep()}"))
    return report
