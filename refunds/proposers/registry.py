"""The proposers that this process may ask, in order, from the settings; the last one needs no model."""

from functools import cache

import redis
from django.conf import settings

from ledger.clock import now_utc
from refunds.proposers.asking import Line
from refunds.proposers.breaker import BreakerState
from refunds.proposers.deterministic import DETERMINISTIC, DeterministicProposer
from refunds.proposers.openai_compatible import OpenAICompatibleProposer
from refunds.proposers.parameters import ModelParameters
from refunds.proposers.prompts import PROMPT_VERSIONS, SCHEMA_VERSIONS
from refunds.proposers.qualification import ModelConfiguration
from refunds.proposers.redis_breaker import RedisBreaker, connect
from refunds.proposers.router import RoutedModel


@cache
def get_proposers() -> Line:
    """Return ``(name, proposer)`` pairs: each configured model, then the deterministic proposer."""
    models = tuple((name, route(name)) for name in settings.ASSISTANT_MODELS)
    return (*models, (DETERMINISTIC, DeterministicProposer()))


def route(model: str) -> RoutedModel:
    """Return a model at the configured address, as it would be asked."""
    configuration = configuration_of(model)
    return RoutedModel(
        proposer=model_proposer(model),
        configuration=configuration,
        breaker=_breaker(configuration.endpoint_sha256, model),
        admits_any=settings.DEMO_ADMITS_ANY_MODEL,
    )


def model_proposer(model: str) -> OpenAICompatibleProposer:
    """Return a model at the configured address, without qualification and breaker: for its evaluation."""
    return OpenAICompatibleProposer(
        base_url=settings.OPENAI_BASE_URL,
        api_key=settings.OPENAI_API_KEY,
        model=model,
        parameters=_parameters(),
    )


def configuration_of(model: str) -> ModelConfiguration:
    """Return what this process would ask a model with."""
    return ModelConfiguration(
        model=model,
        base_url=settings.OPENAI_BASE_URL,
        prompt_version=PROMPT_VERSIONS,
        schema_version=SCHEMA_VERSIONS,
        parameters=_parameters().as_evidence(),
    )


def breaker_state(*, endpoint_sha256: str, model: str) -> BreakerState | None:
    """Return the state that all processes share, or None while Redis does not answer."""
    return _breaker(endpoint_sha256, model).state()


def _parameters() -> ModelParameters:
    return ModelParameters.read(settings.ASSISTANT_PARAMETERS)


@cache
def _breaker(endpoint_sha256: str, model: str) -> RedisBreaker:
    return RedisBreaker(client=_redis(), endpoint=endpoint_sha256, name=model, clock=now_utc)


@cache
def _redis() -> redis.Redis:
    return connect(settings.CELERY_BROKER_URL)
