from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """What may honestly be said, and its delivery."""

    name = "notifications"
    default_auto_field = "django.db.models.BigAutoField"
