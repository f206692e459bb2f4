"""Real browsers of people who use the product: each visit is a browser of its own that is watched."""

from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.test import Client
from playwright.sync_api import Error, expect

from tests.browser.watch import Watch
from tests.support.workers import wait_until

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
WIDE = {"width": 1280, "height": 900}
PATIENCE_MS = 30_000


class Visit:
    """One browser of one person; ``scripts=False`` is a browser that runs no JavaScript."""

    def __init__(self, chromium, url, *, user=None, scripts=True, size=None):
        self.scripts = scripts
        self.context = chromium.new_context(
            base_url=url, java_script_enabled=scripts, viewport=size or WIDE, reduced_motion="reduce"
        )
        self.context.set_default_timeout(PATIENCE_MS)
        self.context.tracing.start(snapshots=True)
        self.watch = Watch(self.context)
        if user is not None:
            self.context.add_cookies([session_cookie(user, url)])
        self.page = self.context.new_page()

    def go(self, path, *, status=200):
        """Open a page and check how it answers."""
        answer = self.page.goto(path)
        assert answer.status == status, f"{path} answered {answer.status}"
        return self.page

    @property
    def live(self):
        """Say whether the page is one that keeps itself up to date, in a browser that lets it."""
        return self.scripts and self.page.locator("#status[hx-get]").count() > 0

    def follow(self, heading, *, until):
        """Wait until the rows say it, then until the page does.

        Where scripts run, nothing is ever loaded again: the page changes by itself, or says it already. Without
        them the page's own link is followed.
        """
        shown = self.page.get_by_role("heading", level=1)
        live, said = self.live, shown.inner_text()
        if live:
            self.page.evaluate("document.documentElement.dataset.same = 'yes'")
        wait_until(until, seconds=90, what=f"the rows for {heading!r}")
        refresh = self.page.get_by_role("link", name="Refresh", exact=True)
        if not self.scripts and refresh.count():
            refresh.click()
        expect(shown).to_have_text(heading)
        if live:
            expect(self.page.locator("html")).to_have_attribute("data-same", "yes")
        if live and shown.inner_text() != said:
            # What changed is also said to those who can't see it.
            expect(self.page.locator("#announcement")).to_have_text(heading)

    def keep(self, folder):
        """Save what the browser shows and did."""
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(Error):
            self.page.screenshot(path=folder / "page.png", full_page=True)
        with suppress(Error):
            (folder / "page.html").write_text(f"<!-- {self.page.url} -->\n{self.page.content()}")
        with suppress(Error):
            self.context.tracing.stop(path=folder / "trace.zip")


class Browsing:
    """The visits of one test."""

    def __init__(self, chromium, url, folder):
        self._chromium, self._url, self._folder = chromium, url, folder
        self.visits = []

    def visit(self, **options):
        self.visits.append(Visit(self._chromium, self._url, **options))
        return self.visits[-1]

    def assert_nothing_went_wrong(self):
        problems = [problem for visit in self.visits for problem in visit.watch.problems]
        assert not problems, "\n".join(problems)

    def keep(self):
        """Save every visit; returns the folder."""
        for number, visit in enumerate(self.visits, start=1):
            visit.keep(self._folder / f"visit-{number}")
        return self._folder

    def close(self):
        for visit in self.visits:
            visit.context.close()


def session_cookie(user, url):
    """Return a signed-in browser's cookie; the form itself has its own tests, and counts attempts by address."""
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    return {"name": name, "value": client.cookies[name].value, "url": url}
