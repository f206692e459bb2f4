from django.apps import AppConfig


class LedgerConfig(AppConfig):
    """Facts that are read, and the ground that every other app stands on."""

    name = "ledger"
    default_auto_field = "django.db.models.BigAutoField"
