"""Addresses below ``/support/``."""

from django.urls import path

from refunds.customer import actions, following, views

app_name = "support"
urlpatterns = [
    path("", views.ask, name="ask"),
    path("check/", views.check, name="check"),
    path("requests/", following.request_list, name="requests"),
    path("requests/<str:reference>/", following.request_status, name="request"),
    path("requests/<str:reference>/status/", following.refreshed_status, name="status"),
    path("requests/<str:reference>/order/", actions.give_order, name="order"),
    path("requests/<str:reference>/message/", actions.add_information, name="message"),
    path("requests/<str:reference>/withdraw/", actions.withdraw, name="withdraw"),
    path("requests/<str:reference>/person/", actions.ask_person, name="person"),
]
