from django.apps import AppConfig
from django.conf import settings


class DemoConfig(AppConfig):
    """What makes one command show the product; installed only under DEMO_MODE."""

    name = "config.demo"
    label = "demo"

    def ready(self) -> None:
        """Plant the fault that DEMO_BREAK names, so that everybody can see the demo fail."""
        from config.demo.breakage import plant  # noqa: PLC0415 - it reaches into apps that load after this one

        plant(settings.DEMO_BREAK)
