from django.apps import AppConfig


class DeploymentConfig(AppConfig):
    """Loads the Celery app in every process, so that tasks are enqueued through it."""

    name = "config"
    label = "deployment"

    def ready(self) -> None:
        """Import the Celery app once the other apps are loaded."""
        import config.celery  # noqa: F401, PLC0415
