import pytest
from django.core.management import CommandError, call_command
from knox.models import AuthToken

from tests.api.calls import URL
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def test_the_printed_token_signs_its_customer_in(order, client, capsys):
    call_command("create_api_token", order.customer.user.email.upper())
    printed = capsys.readouterr()
    token = printed.out.strip()
    assert printed.err == ""
    assert client.get(URL, headers={"Authorization": f"Token {token}"}).status_code == 200


def test_a_user_without_a_customer_record_gets_a_warning(capsys):
    call_command("create_api_token", make_user().email)
    assert "no customer record" in capsys.readouterr().err


def test_unknown_inactive_and_ambiguous_addresses_get_no_token():
    make_user(email="twice@example.com")
    make_user(email="TWICE@example.com")
    make_user(email="gone@example.com", is_active=False)
    for email, why in (
        ("nobody@example.com", "No active user has"),
        ("gone@example.com", "No active user has"),
        ("twice@example.com", "More than one active user has"),
    ):
        with pytest.raises(CommandError, match=why):
            call_command("create_api_token", email)
    assert AuthToken.objects.count() == 0
