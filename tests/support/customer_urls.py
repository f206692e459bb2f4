"""The pages and the API of customers, as the deployment routes them."""

from django.urls import include, path

handler500 = "refunds.customer.errors.server_error"
urlpatterns = [
    path("accounts/", include("allauth.account.urls")),
    path("support/", include("refunds.customer.urls")),
    path("api/", include("refunds.api.urls")),
]
