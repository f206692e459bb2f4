"""The watch and the checks find what is planted for them."""

import pytest

from tests.browser.accessibility import NARROW, assert_accessible, assert_fits

POLICY = "default-src 'self'; script-src 'self'; style-src 'self'"
PAGE = """<!doctype html><html lang="en"><title>Planted</title><body><main><h1>Planted</h1>{}</main></body></html>"""


@pytest.fixture
def show(browsing):
    """Answer with a page of the test's own under the product's policy."""

    def show(body, *, expected):
        visit = browsing.visit()
        visit.page.route(
            "**/planted/",
            lambda route: route.fulfill(
                body=PAGE.format(body),
                content_type="text/html",
                headers={"Content-Security-Policy": POLICY},
            ),
        )
        visit.go("/planted/")
        problems = list(visit.watch.problems)
        visit.watch.problems.clear()
        assert [part for part in expected if not any(part in problem for problem in problems)] == []
        assert bool(problems) == bool(expected)
        return visit.page

    return show


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<script>document.title = 'run'</script>", "Content Security Policy"),
        ('<p style="color: red">Red</p>', "Content Security Policy"),
        ('<img src="/static/missing.png" alt="Nothing">', "404"),
        ('<script src="http://127.0.0.1:9/elsewhere.js"></script>', "Content Security Policy"),
    ],
)
def test_a_silent_error_is_noticed(show, body, expected):
    assert show(body, expected=[expected]).title() == "Planted"


def test_axe_finds_what_is_planted(show):
    page = show('<input type="text">', expected=[])
    with pytest.raises(AssertionError, match="label"):
        assert_accessible(page)


def test_what_is_too_wide_is_found(show):
    page = show("<pre>" + "wide " * 200 + "</pre>", expected=[])
    page.set_viewport_size(NARROW)
    with pytest.raises(AssertionError, match="<pre>"):
        assert_fits(page)
