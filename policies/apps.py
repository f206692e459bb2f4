from django.apps import AppConfig


class PoliciesConfig(AppConfig):
    """Policy versions, their selection and their pure rules."""

    name = "policies"
    default_auto_field = "django.db.models.BigAutoField"
