"""Each page by axe's rules, in light and dark, in a narrow window and with large text, and without silent errors."""

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import (
    COLOURS,
    LAYOUT,
    NARROW,
    assert_accessible,
    assert_fits,
    double_the_text,
)
from tests.browser.browsing import WIDE
from tests.browser.pages.places import PLACES


@pytest.fixture(params=PLACES, ids=lambda place: place.__name__)
def page(request, browsing, shop):
    """One page, with the words on it by which it is the page that was meant."""
    place = request.param(shop)
    visit = browsing.visit(user=place.user)
    page = visit.go(place.path, status=place.status)
    if place.first:
        place.first(page)
    if place.send:
        page.get_by_role("button", name=place.send).click()
    expect(page.get_by_text(place.shows).first).to_be_visible()
    return page


def test_it_can_be_used_by_everybody(page):
    assert_accessible(page, "light")
    page.emulate_media(color_scheme="dark")
    assert_accessible(page, "dark", rules=COLOURS)

    page.set_viewport_size(NARROW)
    assert_fits(page, "320 px")
    assert_accessible(page, "320 px", rules=LAYOUT)

    page.set_viewport_size(WIDE)
    double_the_text(page)
    assert_fits(page, "200 % text")
