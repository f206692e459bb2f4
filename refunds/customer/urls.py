"""Addresses below ``/support/``."""

from django.urls import path

from refunds.customer import views

app_name = "support"
urlpatterns = [
    path("", views.ask, name="ask"),
    path("requests/", views.request_list, name="requests"),
    path("requests/<str:reference>/", views.request_status, name="request"),
]
