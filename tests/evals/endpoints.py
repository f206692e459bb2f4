"""Which model is asked, and where: the simulator, the real one on this machine, or any that the environment names."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config.demo.local_model.weights import NAME
from refunds.proposers.openai_compatible import ModelParameters, OpenAICompatibleProposer
from tests.support.model_simulator import ModelSimulator
from tests.support.simulator_process import SimulatorProcess

SIMULATOR, LOCAL = "simulator", "local"
# Small models go on to the limit unless the schema stops them.
_SMALL: Final = ModelParameters(max_output_tokens=250, temperature=0.0, length_limits=True)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model that can be asked. ``seconds`` is what one question may take, corrections included."""

    name: str
    model: OpenAICompatibleProposer
    seconds: float


class _LocalModel(SimulatorProcess):
    module = "config.demo.local_model"


@contextmanager
def endpoints(wanted: str, env: Mapping[str, str]) -> Iterator[list[Endpoint]]:
    """Yield what ``wanted`` names: "simulator", "local", or "" for OPENAI_BASE_URL with ASSISTANT_MODELS."""
    base_url = env.get("OPENAI_BASE_URL", "")
    with ExitStack() as stack:
        if wanted == LOCAL:
            url = stack.enter_context(_LocalModel()).origin
            yield [Endpoint(NAME, _proposer(f"{url}/v1", "", NAME, _SMALL), 120.0)]
        elif wanted == SIMULATOR or not base_url:
            book = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "model.sqlite3"
            simulator = stack.enter_context(ModelSimulator(book=book))
            proposer = _proposer(simulator.url, simulator.api_key, simulator.model)
            yield [Endpoint(SIMULATOR, proposer, 20.0)]
        else:
            key = env.get("OPENAI_API_KEY", "")
            names = [name.strip() for name in env.get("ASSISTANT_MODELS", "").split(",") if name.strip()]
            yield [Endpoint(name, _proposer(base_url, key, name), 30.0) for name in names]


def _proposer(
    base_url: str, api_key: str, model: str, parameters: ModelParameters | None = None
) -> OpenAICompatibleProposer:
    return OpenAICompatibleProposer(base_url=base_url, api_key=api_key, model=model, parameters=parameters)
