"""What requests leave in the log: routes, never paths."""

import logging
import re

import pytest
from django.db import OperationalError

from tests.factories import make_customer

pytestmark = pytest.mark.django_db


@pytest.fixture
def log(caplog, own_cache):
    """Everything that was logged, as one text."""
    caplog.set_level(logging.DEBUG)
    return lambda: "\n".join(f"{r.name} {r.levelname} {r.getMessage()} {r.exc_text}" for r in caplog.records)


def asked_link(client, mailoutbox):
    """Return the path of the link in the mail, and its key."""
    user = make_customer(user__email="ada@example.com").user
    user.set_password("correct horse battery staple")
    user.save()
    client.post("/accounts/password/reset/", {"email": "ada@example.com"})
    path = re.search(r"http://testserver(/accounts/password/reset/key/\S+)", mailoutbox[0].body).group(1)
    return path, path.rstrip("/").rpartition("/")[2].partition("-")[2]


def test_a_password_is_reset_without_its_key_in_the_log(client, mailoutbox, log):
    path, key = asked_link(client, mailoutbox)
    assert mailoutbox[0].subject == "Refund desk: Choose a new password"
    assert len(key) > 20
    form = client.get(path, follow=True)
    assert form.status_code == 200
    new = "another battery horse staple"
    done = client.post(form.request["PATH_INFO"], {"password1": new, "password2": new})
    assert (done.status_code, done.headers["Location"]) == (302, "/accounts/password/reset/key/done/")
    assert client.get(path).status_code == 200  # used up: the page says so
    assert "request_finished" in log()
    assert "POST /accounts/password/reset/key/(?P<uidb36>" in log()
    assert key not in log()


def test_refusals_and_faults_of_a_reset_link_do_not_log_its_key(client, mailoutbox, log, monkeypatch):
    path, key = asked_link(client, mailoutbox)
    client.raise_request_exception = False
    client.handler.enforce_csrf_checks = True
    assert client.post(path, {}).status_code == 403
    assert client.put(path).status_code in {403, 405}
    assert client.get(f"/nowhere{path}").status_code == 404
    assert client.get(f"{path}?next=%00").status_code == 400
    client.get(path.rstrip("/"))

    def broken(*_, **__):
        raise RuntimeError

    monkeypatch.setattr("allauth.account.forms.UserTokenForm.clean", broken)
    assert client.get(path).status_code == 500
    assert "Not Found: -" in log()
    assert key not in log()


def test_a_query_is_not_logged(client, log):
    client.get("/accounts/login/?next=/support/requests/RF-SECRET/")
    assert "GET /accounts/login/" in log()
    assert "RF-SECRET" not in log()


def test_who_asked_is_logged_once_it_is_known(client, log):
    customer = make_customer()
    client.force_login(customer.user)
    client.get("/support/requests/")
    assert f"'user_id': {customer.user_id}" in log()


def test_another_host_is_one_warning_without_a_traceback(client, caplog):
    assert client.get("/support/", headers={"Host": "evil.example"}).status_code == 400
    (line,) = [record for record in caplog.records if record.name == "django.security.DisallowedHost"]
    assert (line.levelno, line.exc_info, line.exc_text) == (logging.WARNING, None, None)
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []


def test_a_database_that_is_away_is_asked_for_the_session_only_once(client, monkeypatch):
    client.force_login(make_customer().user)
    asked = []

    def away(self):
        asked.append(1)
        raise OperationalError("couldn't get a connection after 3.00 sec")

    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.load", away)
    client.raise_request_exception = False
    answer = client.get("/support/requests/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert len(asked) == 1
