"""Where the demo's page may look for the provider: at a simulator on this machine, and in the demo alone."""

import pytest
from pydantic import ValidationError

from config.environment import Environment

SOUND = {
    "DATABASE_URL": "postgresql://desk@db/desk",
    "REDIS_URL": "redis://cache:6379/0",
    "SECRET_KEY": "x" * 50,
    "DEMO_MODE": True,
}


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:8420", "http://localhost:1", "http://[::1]:65535"])
def test_this_machine(url: str) -> None:
    assert url == Environment.model_validate(SOUND | {"DEMO_GATEWAY_URL": url}).DEMO_GATEWAY_URL


@pytest.mark.parametrize(
    "url",
    [
        "https://api.stripe.com",
        "http://127.0.0.1",
        "http://127.0.0.1:80/path",
        "http://user@127.0.0.1:80",
        "http://127.0.0.1.example.com:80",
        "http://10.0.0.1:80",
        "http://127.0.0.1:8420\n",
    ],
)
def test_and_no_other(url: str) -> None:
    with pytest.raises(ValidationError):
        Environment.model_validate(SOUND | {"DEMO_GATEWAY_URL": url})


def test_outside_the_demo_it_stops_the_start() -> None:
    with pytest.raises(ValidationError, match="needs DEMO_MODE"):
        Environment.model_validate(SOUND | {"DEMO_GATEWAY_URL": "http://127.0.0.1:1", "DEMO_MODE": False})


def test_models_that_nobody_tried_are_asked_in_the_demo_alone() -> None:
    assert Environment.model_validate(SOUND | {"DEMO_ADMITS_ANY_MODEL": True}).DEMO_ADMITS_ANY_MODEL
    assert not Environment.model_validate(SOUND).DEMO_ADMITS_ANY_MODEL
    with pytest.raises(ValidationError, match="needs DEMO_MODE"):
        Environment.model_validate(SOUND | {"DEMO_ADMITS_ANY_MODEL": True, "DEMO_MODE": False})
