from django.apps import AppConfig


class RefundsConfig(AppConfig):
    """The thirteen stages of a refund, from request to receipt."""

    name = "refunds"
    default_auto_field = "django.db.models.BigAutoField"
