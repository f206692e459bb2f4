"""A model that the product asks in this process: configured, qualified, and with a breaker that has seen nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from refunds.proposers import registry
from tests.factories import qualify_model
from tests.support.model_simulator import ModelSimulator


@contextmanager
def asked_model(simulator: ModelSimulator, settings: Any, *, deadline: float = 10.0) -> Iterator[None]:
    """Let this process ask ``simulator``; ``settings`` is pytest-django's fixture."""
    simulator.reset()
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = simulator.url, simulator.api_key
    settings.ASSISTANT_MODELS, settings.ASSISTANT_DEADLINE_SECONDS = (simulator.model,), deadline
    qualify_model(base_url=simulator.url, model=simulator.model)
    registry.get_proposers.cache_clear()
    breaker = registry.route(simulator.model).breaker
    breaker._client.delete(*breaker._keys)  # what earlier tests taught it
    try:
        yield
    finally:
        registry.get_proposers.cache_clear()
