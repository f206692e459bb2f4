"""Evaluations of models, as ``manage.py qualify_model`` would have stored them."""

from datetime import datetime, timedelta
from typing import Any

from refunds.models import ModelQualification
from refunds.proposers.parameters import ModelParameters
from refunds.proposers.prompts import PROMPT_VERSIONS, SCHEMA_VERSIONS
from refunds.proposers.qualification import ModelConfiguration
from tests.factories.facts import NOW

SIMULATED = "demo-proposer-1"


def model_configuration(*, base_url: str, model: str = SIMULATED, **changes: Any) -> ModelConfiguration:
    """Return how this product asks a model with its default parameters."""
    honest = {
        "prompt_version": PROMPT_VERSIONS,
        "schema_version": SCHEMA_VERSIONS,
        "parameters": ModelParameters().as_evidence(),
    }
    return ModelConfiguration(model=model, base_url=base_url, **(honest | changes))


def qualify_model(
    *, base_url: str, model: str = SIMULATED, at: datetime = NOW, days: int = 90, **columns: Any
) -> ModelQualification:
    """Return a passed evaluation; the snapshot is what the simulator calls itself."""
    configuration = model_configuration(base_url=base_url, model=model)
    sound = {
        "model": model,
        "endpoint_host": configuration.host,
        "endpoint_sha256": configuration.endpoint_sha256,
        "configuration_sha256": configuration.sha256,
        "parameters": configuration.parameters,
        "prompt_version": configuration.prompt_version,
        "schema_version": configuration.schema_version,
        "snapshot": f"{model}-2026-08-01",
        "response_form": "json_schema",
        "set_version": "2026-11",
        "set_sha256": "0" * 64,
        "attempts": 3,
        "areas": {},
        "requests": 258,
        "latency_p95_ms": 20,
        "declared": {
            "declared_by": "tests",
            "data_residency": "here",
            "retention_days": 0,
            "trains_on_inputs": False,
        },
        "passed": True,
        "at": at,
        "expires_at": at + timedelta(days=days),
    }
    return ModelQualification.objects.create(**(sound | columns))
