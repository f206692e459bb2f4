"""Addresses below ``/api/``."""

from django.urls import path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from refunds.api.actions import MessagesView, OrderView, PersonView, WithdrawView
from refunds.api.views import RefundRequestsView, RefundRequestView, UnknownEndpointView

app_name = "api"
urlpatterns = [
    path("v1/refund-requests", RefundRequestsView.as_view(), name="requests"),
    path("v1/refund-requests/<str:workflow_id>", RefundRequestView.as_view(), name="request"),
    path("v1/refund-requests/<str:workflow_id>/withdraw", WithdrawView.as_view(), name="withdraw"),
    path("v1/refund-requests/<str:workflow_id>/messages", MessagesView.as_view(), name="messages"),
    path("v1/refund-requests/<str:workflow_id>/person", PersonView.as_view(), name="person"),
    path("v1/refund-requests/<str:workflow_id>/order", OrderView.as_view(), name="order"),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "docs/",
        SpectacularSwaggerSplitView.as_view(url_name="api:schema", template_name="api/docs.html"),
        name="docs",
    ),
    re_path("^v1/", UnknownEndpointView.as_view(), name="unknown"),
]
