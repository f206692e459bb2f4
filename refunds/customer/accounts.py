"""How customers get accounts: from the merchant's records, never by signing themselves up."""

from typing import Any

import structlog
from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from refunds.selectors.review import get_reviewer

logger = structlog.get_logger("accounts")


class ClosedAccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-in for people whom a merchant's records already know."""

    def is_open_for_signup(self, _request: HttpRequest) -> bool:
        """Nobody signs up here: an account without a customer record could ask for nothing."""
        return False

    def add_message(self, *_args: Any, **_kwargs: Any) -> None:
        """Say nothing: a message that no page showed would wait in a cookie for the next person at this browser."""

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """Send those who work for a merchant to their queue, other staff to the admin, customers to their page.

        A page that was asked for before signing in (``next``) takes precedence.
        """
        if not getattr(request.user, "is_staff", False):
            return str(super().get_login_redirect_url(request))
        works_for = get_reviewer(user_id=request.user.pk or 0).merchant_ids
        return reverse("console:queue" if works_for else "admin:index")

    def is_safe_url(self, url: str) -> bool:
        """Say whether somebody may be sent on to ``url``; what is no address at all is not safe."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Hand a mail over, each wait for the server limited by its backend; one that fails is only logged.

        Whoever asked reads the same page either way, so that it says nothing about the address.
        """
        try:
            super().send_mail(template_prefix, email, context)
        except OSError as error:  # smtplib's own errors are OSErrors
            logger.error("account.mail_failed", error=type(error).__name__.upper())  # noqa: TRY400 - a trace quotes addresses

    def respond_user_inactive(self, request: HttpRequest, _user: AbstractBaseUser) -> HttpResponse:
        """Answer somebody whose account was closed, once they gave its password."""
        return render(request, "account/account_inactive.html", status=403)

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address that the outermost trusted proxy saw, else the one of the connection.

        A request that did not come through every proxy must not fail for it.
        """
        passed = request.headers.get("X-Forwarded-For", "").count(",") + 1
        if passed < settings.ALLAUTH_TRUSTED_PROXY_COUNT:
            return str(request.META.get("REMOTE_ADDR", ""))
        return str(super().get_client_ip(request))
