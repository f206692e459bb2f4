from django.apps import AppConfig
from django.conf import settings

from ledger.redaction import add_detector
from ledger.redaction.presidio import PresidioDetector


class DeploymentConfig(AppConfig):
    """Loads the Celery app in every process, so that tasks are enqueued through it, and an added detector."""

    name = "config"
    label = "deployment"

    def ready(self) -> None:
        """Import the Celery app once the other apps are loaded."""
        import config.celery  # noqa: F401, PLC0415

        if settings.PERSONAL_DATA_DETECTOR == "presidio":
            add_detector(PresidioDetector())
