"""Every address. The review console stands before the admin, so that its path is not taken for an app's."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import RedirectView

admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.site_header = admin.site.site_title = "Refund desk"


def livez(_request: HttpRequest) -> HttpResponse:
    """Say that this process answers; it asks nothing else, so that no outage elsewhere restarts it."""
    return HttpResponse("ok\n", content_type="text/plain")


handler500 = "refunds.customer.errors.server_error"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="support:ask", permanent=False)),
    path("livez", livez),
    path("support/", include("refunds.customer.urls")),
    path("api/", include("refunds.api.urls")),
    path("accounts/", include("allauth.account.urls")),
    path("admin/review/", include("refunds.console.urls")),
    path("admin/", admin.site.urls),
]
