"""The proposers that this process may ask, in order, from the settings; the last one needs no model."""

from functools import cache

from django.conf import settings

from refunds.proposers.deterministic import DeterministicProposer
from refunds.proposers.openai_compatible import OpenAICompatibleProposer
from refunds.proposers.port import Proposer


@cache
def get_proposers() -> tuple[tuple[str, Proposer], ...]:
    """Return ``(name, proposer)`` pairs: each configured model, then the deterministic proposer."""
    models = tuple(
        (
            name,
            OpenAICompatibleProposer(
                base_url=settings.OPENAI_BASE_URL, api_key=settings.OPENAI_API_KEY, model=name
            ),
        )
        for name in settings.ASSISTANT_MODELS
    )
    return (*models, ("deterministic", DeterministicProposer()))
