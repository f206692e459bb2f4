"""Every address. The review console stands before the admin, so that its path is not taken for an app's."""

from allauth.account import views as account
from allauth.account.decorators import secure_admin_login
from django.conf import settings
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from refunds import webhooks

admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.site_header = admin.site.site_title = "Refund desk"


def closed(_request: HttpRequest, **_else: str) -> HttpResponse:
    """Answer an address that exists for its name alone: allauth builds links to it."""
    raise Http404


handler400 = "config.errors.bad_request"
handler403 = "config.errors.permission_denied"
handler404 = "config.errors.not_found"
handler429 = "refunds.customer.errors.too_many_requests"  # allauth's name for it
handler500 = "config.errors.server_error"

# An e-mail address decides whose records somebody sees, and only a merchant's records set it. So allauth's own
# list of addresses is not included: it would let people sign up, and add an address of somebody else.
account_patterns = [
    path("login/", account.login, name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("password/change/", account.password_change, name="account_change_password"),
    path("password/reset/", account.password_reset, name="account_reset_password"),
    path("password/reset/done/", account.password_reset_done, name="account_reset_password_done"),
    path(
        "password/reset/key/done/",
        account.password_reset_from_key_done,
        name="account_reset_password_from_key_done",
    ),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        account.password_reset_from_key,
        name="account_reset_password_from_key",
    ),
    path("signup/", closed, name="account_signup"),
    path("password/set/", closed, name="account_set_password"),
]

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="support:ask", permanent=False)),
    path("support/", include("refunds.customer.urls")),
    path("api/", include("refunds.api.urls")),
    path("webhooks/stripe", webhooks.stripe, name="stripe_webhook"),
    path("accounts/", include(account_patterns)),
    path("admin/review/", include("refunds.console.urls")),
    *([path("demo/", include("config.demo.provider_page.urls"))] if settings.DEMO_MODE else []),
    path("admin/", admin.site.urls),
]
