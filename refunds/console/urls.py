"""The review console; routed at ``/admin/review/`` before the admin's own URLs."""

from django.urls import path

from refunds.console import views

app_name = "console"
urlpatterns = [
    path("", views.queue, name="queue"),
    path("<int:ticket>/", views.case, name="case"),
    path("<int:ticket>/approve/", views.decide_case, {"decision": "approve"}, name="approve"),
    path("<int:ticket>/reject/", views.decide_case, {"decision": "reject"}, name="reject"),
]
