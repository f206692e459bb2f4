"""How customers get accounts: from the merchant's records, never by signing themselves up."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class ClosedAccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-in for people whom a merchant's records already know."""

    def is_open_for_signup(self, _request: HttpRequest) -> bool:
        """Nobody signs up here: an account without a customer record could ask for nothing."""
        return False
