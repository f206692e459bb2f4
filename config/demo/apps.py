from django.apps import AppConfig


class DemoConfig(AppConfig):
    """What makes one command show the product; installed only under DEMO_MODE."""

    name = "config.demo"
    label = "demo"
