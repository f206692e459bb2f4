"""The part of a status page that refreshes itself."""

import json
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from refunds.customer.live import live_of
from refunds.facts import report_requests
from refunds.states import OperationState, WorkflowState
from tests.customer.pages import Elements, text_of
from tests.factories import (
    NOW,
    add_check,
    add_message,
    make_customer,
    make_duplicate_order,
    make_order,
    move_operation,
    move_workflow,
    open_workflow,
    operation_in_state,
    workflow_in_state,
)

REFRESH = {"HX-Request": "true"}


def address(workflow):
    return f"/support/requests/{workflow.reference}/"


def live_part(response):
    """Return the attributes of the part that refreshes itself."""
    return next(
        attributes for attributes in Elements(response).all("div") if attributes.get("id") == "status"
    )


def refresh(client, workflow, page=None, **headers):
    """Ask as htmx does from a page."""
    part = live_part(page) if page is not None else {}
    seen = json.loads(part.get("hx-headers", "{}"))
    url = part.get("hx-get", f"{address(workflow)}status/")
    return client.get(url, headers=REFRESH | seen | headers)


@pytest.fixture
def fresh(order):
    return open_workflow(order=order, now=timezone.now())


@pytest.fixture
def page(browser, fresh):
    return browser.get(address(fresh))


def test_an_open_page_asks_again_by_attributes_alone(page, fresh):
    part = live_part(page)
    assert part["hx-get"] == f"{address(fresh)}status/?shown=REQUEST_RECEIVED"
    assert (part["hx-trigger"], part["hx-swap"]) == ("every 5s, refresh", "outerHTML")
    settings = json.loads(
        next(meta for meta in Elements(page).all("meta") if meta.get("name") == "htmx-config")["content"]
    )
    assert (settings["includeIndicatorStyles"], settings["allowEval"], settings["allowScriptTags"]) == (
        False,
    ) * 3
    assert {"code": "204|304", "swap": False} in settings["responseHandling"]
    assert [script["src"] for script in Elements(page).all("script")] == [
        "/static/django_htmx/htmx-2.min.js",
        "/static/support/status.js",
    ]
    html = page.content.decode()
    assert '<div id="announcement" class="visually-hidden" role="status" aria-live="polite"></div>' in html
    assert "We could not refresh this page." in html
    assert f'<a id="refresh" href="{address(fresh)}">Refresh</a>' in html
    assert "Page last checked: " in text_of(page)


def test_both_scripts_are_served(client, db):
    for path in ("/static/django_htmx/htmx-2.min.js", "/static/support/status.js"):
        answer = client.get(path)
        answer.close()
        assert answer.status_code == 200, path
        assert "javascript" in answer.headers["Content-Type"]


def test_nothing_new_is_304_without_a_body(browser, fresh, page):
    answer = refresh(browser, fresh, page)
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert answer.headers["ETag"] == json.loads(live_part(page)["hx-headers"])["If-None-Match"]


def test_news_come_as_the_part_and_a_sentence_to_be_read_out(browser, fresh, page):
    move_workflow(fresh, WorkflowState.MANUAL_REVIEW, now=timezone.now())
    answer = refresh(browser, fresh, page)
    text = text_of(answer)
    assert answer.status_code == 200
    assert "<html" not in answer.content.decode()
    assert text.count("is with our billing") == 2
    assert '<div id="announcement" hx-swap-oob="innerHTML">' in answer.content.decode()
    assert "HX-Request" in answer.headers["Vary"]
    again = refresh(browser, fresh, answer)
    assert again.status_code == 304


def test_only_a_new_heading_is_read_out(browser, fresh, page):
    add_message(fresh, "More.", now=timezone.now())
    answer = refresh(browser, fresh, page)
    assert answer.status_code == 200
    assert "You wrote to us about this request again." in text_of(answer)
    assert "announcement" not in answer.content.decode()


def test_a_closed_request_ends_the_asking(client, db):
    workflow = operation_in_state(OperationState.COMPLETED).workflow
    client.force_login(workflow.customer.user)
    page = client.get(address(workflow))
    assert "hx-get" not in live_part(page)
    assert Elements(page).all("script") == []
    answer = refresh(client, workflow)
    assert answer.status_code == 286
    assert "hx-get" not in live_part(answer)
    assert "was processed" in text_of(answer)


@pytest.mark.parametrize("change", ["checked", "planned", "moved", "written"])
def test_whatever_the_page_shows_makes_it_new(client, db, change):
    operation = operation_in_state(OperationState.STATUS_UNKNOWN)
    client.force_login(operation.workflow.customer.user)
    page = client.get(address(operation.workflow))
    assert refresh(client, operation.workflow, page).status_code == 304
    if change == "checked":
        add_check(operation, now=NOW + timedelta(minutes=1))
    elif change == "planned":
        type(operation).objects.filter(pk=operation.pk).update(next_check_at=NOW + timedelta(hours=1))
    elif change == "moved":
        move_operation(operation, OperationState.MANUAL_REVIEW)
    else:
        add_message(operation.workflow, "Still nothing?")
    assert refresh(client, operation.workflow, page).status_code == 200


@pytest.mark.parametrize(("minutes", "seconds"), [(1, 5), (3, 15), (60, 60)])
def test_what_is_quiet_is_asked_about_less_often(db, minutes, seconds):
    report = report_requests([open_workflow(order=make_order())])[0]
    assert live_of(report, now=NOW + timedelta(minutes=minutes)).seconds == seconds


def test_a_session_that_ended_leads_the_whole_page_to_sign_in(client, browser, fresh, page):
    client.logout()
    answer = refresh(client, fresh, page)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["HX-Redirect"] == f"/accounts/login/?next={address(fresh)}status/"
    assert "Location" not in answer.headers
    assert answer.headers["Cache-Control"] == "private, no-store"
    plain = client.get(f"{address(fresh)}status/")
    assert (plain.status_code, "HX-Redirect" in plain.headers) == (302, False)


def test_somebody_who_opens_its_address_gets_the_page(browser, fresh):
    answer = browser.get(f"{address(fresh)}status/")
    assert (answer.status_code, answer.headers["Location"]) == (302, address(fresh))


@pytest.mark.failure("F099")
@pytest.mark.failure("F100")
@pytest.mark.parametrize("headers", [{}, REFRESH])
def test_foreign_and_missing_references_are_one(browser, order, headers):
    neighbour = open_workflow(order=make_order(customer=make_customer(merchant=order.merchant)))

    def seen(reference):
        response = browser.get(f"/support/requests/{reference}/status/", headers=headers)
        return response.status_code, dict(response.headers), response.content

    missing = seen("RF-0000-0000")
    assert missing[0] == 404
    for reference in (neighbour.reference, "RF-X", "x" * 300, "9" * 5000):
        assert seen(reference) == missing


def test_a_fault_is_a_status_that_leaves_the_page_as_it_is(browser, fresh, page, monkeypatch):
    def away(*_):
        raise OperationalError("connection refused")

    browser.raise_request_exception = False
    monkeypatch.setattr("refunds.customer.following.report_requests", away)
    assert refresh(browser, fresh, page).status_code == 503


@pytest.mark.parametrize("tag", ["W/x", '"', "*" * 5000, '"\u00e4"', ""])
def test_a_strange_tag_is_no_fault(browser, fresh, tag):
    assert refresh(browser, fresh, **{"If-None-Match": tag}).status_code == 200


def test_asking_needs_few_queries(client, db, django_assert_num_queries):
    workflow = workflow_in_state(WorkflowState.MANUAL_REVIEW, order=make_duplicate_order().order)
    client.force_login(workflow.customer.user)
    page = client.get(address(workflow))
    # session, user, customer, request, seven at most for the rows beside it
    with django_assert_num_queries(11, exact=False):
        assert refresh(client, workflow, page).status_code == 304
    move_workflow(workflow, WorkflowState.REJECTED)
    with django_assert_num_queries(12, exact=False):  # and whether there is an operation
        assert refresh(client, workflow, page).status_code == 286
