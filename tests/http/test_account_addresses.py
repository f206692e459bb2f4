"""Which of allauth's addresses answer: an e-mail address decides whose records somebody sees."""

import socket
import time

import pytest
from allauth.account import urls as everything
from allauth.account.models import EmailAddress
from django.urls import reverse

from tests.customer.pages import text_of
from tests.factories import make_customer, make_merchant, make_staff, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_cache")]
PASSWORD = "correct horse battery staple"
OPEN = {
    "account_login",
    "account_logout",
    "account_reauthenticate",
    "account_change_password",
    "account_reset_password",
    "account_reset_password_done",
    "account_reset_password_from_key",
    "account_reset_password_from_key_done",
}
CLOSED = (
    "signup/",
    "email/",
    "confirm-email/",
    "confirm-email/abc:def/",
    "inactive/",
    "password/set/",
    "login/code/",
    "login/code/confirm/",
    "reauthenticate/code/",
    "reauthenticate/code/confirm/",
    "phone/verify/",
    "phone/change/",
    "signup/passkey/",
    "social/connections/",
    "social/signup/",
    "3rdparty/",
    "2fa/",
    "sessions/",
    "",
)


def with_password(user):
    user.set_password(PASSWORD)
    user.save()
    return user


def sign_in(client, user, **sent):
    return client.post("/accounts/login/", {"login": user.email, "password": PASSWORD} | sent)


@pytest.mark.parametrize("address", CLOSED)
@pytest.mark.parametrize("signed_in", [False, True])
def test_every_other_address_of_allauth_is_closed(client, address, signed_in):
    if signed_in:
        client.force_login(make_customer().user)
    for method in (client.get, client.post):
        assert method(f"/accounts/{address}").status_code == 404


def test_no_address_of_allauth_is_open_by_an_oversight(client):
    client.force_login(make_customer().user)
    arguments = {"account_confirm_email": ["abc:def"], "account_reset_password_from_key": ["1", "abc-def"]}
    for pattern in everything.urlpatterns:
        path = reverse(pattern.name, "allauth.account.urls", args=arguments.get(pattern.name))
        answer = client.get(f"/accounts{path}")
        assert (answer.status_code != 404) == (pattern.name in OPEN), pattern.name


@pytest.mark.failure("F099")
def test_nobody_adds_an_address_of_somebody_else(client):
    victim, attacker = make_customer(user__email="victim@example.com"), make_customer()
    client.force_login(attacker.user)
    for action in ({"action_add": ""}, {"action_primary": ""}):
        answer = client.post("/accounts/email/", {"email": "victim@example.com"} | action)
        assert answer.status_code == 404
    attacker.user.refresh_from_db()
    assert attacker.user.email != victim.user.email
    assert not EmailAddress.objects.filter(email="victim@example.com").exists()


def test_signing_in_and_out_leaves_no_message_for_the_next_person(client):
    user = with_password(make_customer(user__email="ada@example.com").user)
    answers = [sign_in(client, user), client.post("/accounts/logout/"), client.get("/accounts/login/")]
    assert [answer.status_code for answer in answers] == [302, 302, 200]
    assert "messages" not in client.cookies
    assert "ada@example.com" not in answers[-1].content.decode()


def test_staff_come_to_their_queue_and_operators_to_the_admin(client):
    reviewer = with_password(make_staff(merchant=make_merchant()))
    assert sign_in(client, reviewer).headers["Location"] == "/admin/review/"
    client.logout()
    assert sign_in(client, reviewer, next="/admin/review/7/").headers["Location"] == "/admin/review/7/"
    client.logout()
    operator = with_password(make_user(is_staff=True, is_superuser=True))
    assert sign_in(client, operator).headers["Location"] == "/admin/"


def test_a_closed_account_is_told_so_and_not_signed_in(client):
    user = with_password(make_user(is_active=False))
    answer = sign_in(client, user)
    assert answer.status_code == 403
    assert "This account is closed" in text_of(answer)
    assert "_auth_user_id" not in client.session


def test_a_password_is_changed_by_whoever_knows_it(client):
    user = with_password(make_customer().user)
    sign_in(client, user)
    page = client.get("/accounts/password/change/")
    assert page.status_code == 200
    new = "another battery horse staple"
    sent = {"oldpassword": PASSWORD, "password1": new, "password2": new}
    assert client.post("/accounts/password/change/", sent).status_code == 302
    user.refresh_from_db()
    assert user.check_password(new)


def test_a_mail_to_an_unknown_address_invites_nobody_to_sign_up(client, mailoutbox):
    sent = client.post("/accounts/password/reset/", {"email": "nobody@example.com"})
    assert (sent.status_code, sent.headers["Location"]) == (302, "/accounts/password/reset/done/")
    assert mailoutbox[0].subject == "Refund desk: There is no account with this address"
    assert "sign up" not in mailoutbox[0].body.lower()
    assert "http" not in mailoutbox[0].body


def test_too_many_attempts_say_how_long_to_wait(client):
    sent = {"email": "nobody@example.com"}
    answers = [client.post("/accounts/password/reset/", sent) for _ in range(6)]
    assert answers[-1].status_code == 429
    assert answers[-1].headers["Retry-After"] == "60"
    assert "Too many attempts" in text_of(answers[-1])


@pytest.mark.failure("F136")
@pytest.mark.parametrize("address", ["//[", "http://[", "https://[::1", "//a\u2100b"])
def test_a_next_page_that_is_no_address_leads_to_the_usual_one(client, address):
    user = with_password(make_customer().user)
    for path in ("login/", "logout/", "password/reset/", "password/change/", "reauthenticate/"):
        assert client.get(f"/accounts/{path}", {"next": address}).status_code in {200, 302}, path
    assert client.get("/admin/login/", {"next": address}).status_code == 302
    reset = client.post("/accounts/password/reset/", {"email": user.email, "next": address})
    assert (reset.status_code, reset.headers["Location"]) == (302, "/accounts/password/reset/done/")
    assert sign_in(client, user, next=address).headers["Location"] == "/support/"
    for path in ("/accounts/login/", "/accounts/reauthenticate/", "/admin/login/"):
        assert client.get(path, {"next": address}).status_code < 500, path
    assert client.post("/accounts/logout/", {"next": address}).status_code == 302


@pytest.mark.parametrize("server", ["refuses", "hangs"])
def test_a_mail_server_that_is_away_changes_nothing_that_a_visitor_sees(client, settings, server, caplog):
    make_user(email="ada@example.com")
    settings.EMAIL_BACKEND = "notifications.channels.email.configured_backend"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1] if server == "hangs" else 1
        settings.EMAIL_URL = f"smtp://127.0.0.1:{port}?timeout=0.3"
        begun = time.monotonic()
        answers = [
            client.post("/accounts/password/reset/", {"email": email})
            for email in ("ada@example.com", "nobody@example.com")
        ]
        assert time.monotonic() - begun < 5
    seen = {(answer.status_code, answer.headers["Location"], answer.content) for answer in answers}
    assert seen == {(302, "/accounts/password/reset/done/", b"")}
    failed = [record for record in caplog.records if "account.mail_failed" in record.getMessage()]
    assert [record.msg["error"] for record in failed] == (
        ["SMTPSERVERDISCONNECTED" if server == "hangs" else "CONNECTIONREFUSEDERROR"] * 2
    )
    assert all(record.exc_info is None for record in failed)
    assert "ada@example.com" not in caplog.text


@pytest.mark.failure("F102")
@pytest.mark.parametrize(
    ("proxies", "forwarded", "locked_out"),
    [
        (0, "198.51.100.{n}", True),  # without a proxy the header is the client's own word
        (1, "198.51.100.{n}, 203.0.113.9", True),  # the proxy's own entry is the last
        (1, "198.51.100.{n}", False),
        (2, "203.0.113.9", True),  # fewer entries than proxies: the connection's address
    ],
)
def test_limits_go_by_the_address_that_a_trusted_proxy_saw(client, settings, proxies, forwarded, locked_out):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = proxies
    answers = [
        client.post(
            "/accounts/password/reset/",
            {"email": f"nobody{n}@example.com"},
            headers={"X-Forwarded-For": forwarded.format(n=n)},
        ).status_code
        for n in range(21)
    ]
    assert answers[:20] == [302] * 20
    assert answers[20] == (429 if locked_out else 302)


@pytest.mark.parametrize(
    "path", ["/accounts/login/", "/accounts/password/reset/", "/api/docs/", "/api/schema/"]
)
def test_head_is_answered_wherever_get_is(client, path):
    assert client.head(path).status_code == 200
