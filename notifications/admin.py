"""Messages and their delivery in the admin: read-only."""

from django.contrib import admin

from ledger.admin import ReadOnlyAdmin, ReadOnlyInline
from notifications.models import Notification, NotificationAttempt


class NotificationAttemptInline(ReadOnlyInline):
    """Every attempt to deliver one message."""

    model = NotificationAttempt
    fields = ("number", "channel", "outcome", "detail", "message_id", "at")
    ordering = ("number",)
    show_change_link = False


@admin.register(Notification)
class NotificationAdmin(ReadOnlyAdmin):
    """Messages that customers are owed."""

    merchant_path = "customer__merchant"
    list_display = (
        "logical_event_id",
        "customer",
        "subject_id",
        "created_at",
        "delivered_at",
        "failed_at",
        "next_attempt_at",
    )
    list_select_related = ("customer",)
    search_fields = ("=logical_event_id", "=subject_id")
    inlines = (NotificationAttemptInline,)
