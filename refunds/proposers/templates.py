"""The prompt templates: one file per version, read once, never changed after it was used.

``prompt_files/<question>/v<number>.txt`` is what a model is told, then a line ``=== correction ===``, then what it is
told when its answer had a defect of form. A change to any word is a new file. Label and digest are evidence on every
proposal and reading, so old files stay.
"""

import hashlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).with_name("prompt_files")
_DIVIDER: Final = "=== correction ===\n"


@dataclass(frozen=True, kw_only=True)
class PromptTemplate:
    """One version of one question. ``sha256`` is that of the file's bytes, in hex."""

    label: str  # such as "propose_action/2"
    sha256: str
    instructions: str = field(repr=False)
    correction: str = field(repr=False)


@cache
def load_template(question: str, version: int) -> PromptTemplate:
    """Return a template; raises FileNotFoundError for a version that does not exist, ValueError for half a file."""
    content = (_FOLDER / question / f"v{version}.txt").read_bytes()
    instructions, divider, correction = content.decode().partition(_DIVIDER)
    if not (instructions.strip() and divider and correction.strip()):
        raise ValueError(f"{question} v{version} must hold instructions and a correction")
    return PromptTemplate(
        label=f"{question}/{version}",
        sha256=hashlib.sha256(content).hexdigest(),
        instructions=instructions,
        correction=correction.strip().replace("\n", " "),
    )
