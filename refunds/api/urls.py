"""Addresses below ``/api/``."""

from django.urls import path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from refunds.api.views import RefundRequestsView, RefundRequestView, UnknownEndpointView

app_name = "api"
urlpatterns = [
    path("v1/refund-requests", RefundRequestsView.as_view(), name="requests"),
    path("v1/refund-requests/<str:workflow_id>", RefundRequestView.as_view(), name="request"),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "docs/",
        SpectacularSwaggerSplitView.as_view(url_name="api:schema", template_name="api/docs.html"),
        name="docs",
    ),
    re_path("^v1/", UnknownEndpointView.as_view(), name="unknown"),
]
