"""The review console; routed at ``/admin/review/`` before the admin's own URLs."""

from django.urls import path

from refunds.console import books, export, house_texts, operation_work, scoreboard, views, work

app_name = "console"
urlpatterns = [
    path("", views.queue, name="queue"),
    path("queue.csv", export.queue_file, name="queue-file"),
    path("scoreboard/", scoreboard.scoreboard, name="scoreboard"),
    path("knowledge/", house_texts.texts, name="house-texts"),
    path("knowledge/new/", house_texts.upload, name="upload-house-text"),
    path("knowledge/<str:document_id>/", house_texts.text, name="house-text"),
    path(
        "knowledge/<str:document_id>/approve/",
        house_texts.act,
        {"name": "approve"},
        name="approve-house-text",
    ),
    path(
        "knowledge/<str:document_id>/reject/", house_texts.act, {"name": "reject"}, name="reject-house-text"
    ),
    path(
        "knowledge/<str:document_id>/retire/", house_texts.act, {"name": "retire"}, name="retire-house-text"
    ),
    path("<int:ticket>/", views.case, name="case"),
    path("<int:ticket>/books/", books.settle, name="settle-books"),
    path("<int:ticket>/approve/", views.decide_case, {"decision": "approve"}, name="approve"),
    path("<int:ticket>/reject/", views.decide_case, {"decision": "reject"}, name="reject"),
    path("<int:ticket>/claim/", work.claim, name="claim"),
    path("<int:ticket>/release/", work.release, name="release"),
    path("<int:ticket>/read-again/", work.do, {"name": "read-again"}, name="read-again"),
    path("<int:ticket>/rebuild/", work.do, {"name": "rebuild"}, name="rebuild"),
    path("<int:ticket>/close/", work.do, {"name": "close"}, name="close"),
    path("<int:ticket>/close-completed/", work.do, {"name": "close-completed"}, name="close-completed"),
    path("<int:ticket>/look-up/<str:operation_id>/", work.look_up, name="look-up"),
    path("<int:ticket>/reference/<str:operation_id>/", operation_work.reference, name="reference"),
    path("<int:ticket>/give-up/<str:operation_id>/", operation_work.propose, name="give-up"),
    path(
        "<int:ticket>/confirm/<str:approval_id>/",
        operation_work.decide,
        {"decision": "approve"},
        name="confirm-give-up",
    ),
    path(
        "<int:ticket>/decline/<str:approval_id>/",
        operation_work.decide,
        {"decision": "reject"},
        name="decline-give-up",
    ),
]
