"""What holds of every page: nothing runs or looks from inside it, and people find their way about it."""

import re

import pytest

from refunds.states import WorkflowState
from tests.customer.pages import Elements, token_of
from tests.factories import make_user, open_without_order, open_workflow, workflow_in_state

POLICY = {
    "default-src 'self'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
}


@pytest.fixture
def pages(browser, order):
    """Every page of customers by what it is, errors among them."""
    asked, waiting = open_workflow(order=order), open_without_order(customer=order.customer)
    closed = workflow_in_state(WorkflowState.REJECTED)
    own, unnamed = f"/support/requests/{asked.reference}/", f"/support/requests/{waiting.reference}/"
    form = {"message": "Order 2841 <b onclick='x'>", "client_token": token_of(browser.get("/support/"))}
    found = {
        "ask": browser.get("/support/"),
        "ask with errors": browser.post("/support/", {}),
        "check": browser.post("/support/check/", form | {"order": "2841"}),
        "check of a suggestion": browser.post("/support/check/", form),
        "check without an order": browser.post("/support/check/", form | {"order": "#"}),
        "changed": browser.post("/support/check/", form | {"change": "1"}),
        "list": browser.get("/support/requests/"),
        "status": browser.get(own),
        "status part": browser.get(f"{own}status/", headers={"HX-Request": "true"}),
        "waiting": browser.get(unnamed),
        "waiting with errors": browser.post(f"{unnamed}order/", {}),
        "message": browser.get(f"{own}message/"),
        "message with errors": browser.post(f"{own}message/", {}),
        "withdraw": browser.get(f"{own}withdraw/"),
        "person": browser.get(f"{own}person/"),
        "not found": browser.get("/support/requests/RF-0000-0000/"),
        "sign out": browser.get("/accounts/logout/"),
    }
    browser.force_login(closed.customer.user)
    theirs = f"/support/requests/{closed.reference}/"
    found |= {"closed": browser.get(theirs), "refused": browser.get(f"{theirs}withdraw/")}
    browser.force_login(make_user())
    found["no customer"] = browser.get("/support/")
    browser.logout()
    return found | {"sign in": browser.get("/accounts/login/"), "nothing here": browser.get("/nowhere/")}


def test_nothing_runs_or_looks_from_inside_a_page_and_the_policy_stays_strict(pages):
    for name, page in pages.items():
        html = Elements(page)
        assert html.script == "", name
        assert all(set(script) == {"src", "defer"} for script in html.all("script")), name
        assert html.all("style") == [], name
        for tag, attributes in html.found:
            assert "style" not in attributes, (name, tag)
            assert not [key for key in attributes if re.match(r"on|hx-on|hx-vals|hx-vars", key)], (name, tag)
            values = [value or "" for value in attributes.values()]
            assert not [value for value in values if re.match(r"\s*(javascript|js):", value)], (name, tag)
        assert "[" not in "".join(part.get("hx-trigger", "") for _, part in html.found), (
            name
        )  # a filter is code
        policy = page.headers["Content-Security-Policy"]
        assert {part.strip() for part in policy.split(";") if part.strip()} == POLICY, name


def test_every_page_can_be_found_ones_way_about(pages):
    titles = {}
    for name, page in pages.items():
        if name == "status part":
            continue
        html, source = Elements(page), page.content.decode()
        titles[name] = re.search(r"<title>(.*?)</title>", source, re.DOTALL).group(1)
        assert html.all("html")[0]["lang"] == "en", name
        assert "width=device-width" in source, name
        assert len(html.all("h1")) == 1, name
        assert 'class="skip" href="#main"' in source, name
        assert '<main id="main" tabindex="-1">' in source, name
        if "errors" in name:
            assert titles[name].startswith("Problem: "), name
            assert "There is a problem" in source, name
    for pair in (("ask", "check"), ("status", "waiting"), ("message", "withdraw"), ("withdraw", "person")):
        assert titles[pair[0]] != titles[pair[1]]


def test_every_field_has_a_label_and_every_reference_within_a_page_an_end(pages):
    for name, page in pages.items():
        html = Elements(page)
        ids = [attributes["id"] for _, attributes in html.found if "id" in attributes]
        assert len(ids) == len(set(ids)), name
        labelled = {label["for"] for label in html.all("label")}
        fields = [field for field in html.all("input") if field["type"] != "hidden"] + html.all("textarea")
        assert {field["id"] for field in fields} <= labelled, name
        typed = [field for field in fields if field.get("type", "text") in {"text", "email", "password"}]
        assert all("autocomplete" in field for field in typed), name
        wanted = {link["href"][1:] for link in html.all("a") if link["href"].startswith("#")}
        for _, attributes in html.found:
            wanted |= set((attributes.get("aria-describedby") or "").split())
            wanted |= set((attributes.get("aria-labelledby") or "").split())
        assert wanted <= set(ids), name
