"""Signing in to the API with a token."""

from django.utils import timezone
from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from knox.auth import TokenAuthentication
from knox.models import AuthToken


class ApiTokenAuthentication(TokenAuthentication):  # type: ignore[misc]  # knox has no types
    """knox's, but each call looks at the token that came, and not at all others of its user as well.

    An expired token is refused and deleted when it is used; one that nobody uses any more stays and opens nothing.
    """

    def _cleanup_token(self, auth_token: AuthToken) -> bool:
        if auth_token.expiry is None or auth_token.expiry >= timezone.now():
            return False
        auth_token.delete()
        return True


class ApiTokenScheme(KnoxTokenScheme):  # type: ignore[no-untyped-call]  # drf-spectacular registers it untyped
    """Lets the schema describe it as knox's."""

    target_class = "refunds.api.tokens.ApiTokenAuthentication"
