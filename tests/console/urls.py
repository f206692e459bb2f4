"""The pages under test, routed as a deployment routes them."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

admin.site.login = secure_admin_login(admin.site.login)
urlpatterns = [
    path("admin/review/", include("refunds.console.urls")),
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
]
