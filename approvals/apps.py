from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Every human decision, and the cases that people own."""

    name = "approvals"
    default_auto_field = "django.db.models.BigAutoField"
