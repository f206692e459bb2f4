"""What the operator declares about a model, since no question finds it out: where the words go, and what for. Pure.

The file is one JSON object with exactly these members: ``declared_by`` (who answers for it), ``data_residency``
(where the endpoint processes), ``retention_days`` (how long it keeps what it was sent; 0 for not at all) and
``trains_on_inputs``. A model that is trained on customers' words does not qualify.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

_LONGEST: Final = 200
_MOST_DAYS: Final = 3650


class DeclaredFactsError(ValueError):
    """If you see this, a file of declared facts is not usable; the message says which member, and not its value."""


@dataclass(frozen=True, kw_only=True)
class DeclaredFacts:
    """Privacy and residency of one endpoint."""

    declared_by: str
    data_residency: str
    retention_days: int
    trains_on_inputs: bool

    def __post_init__(self) -> None:
        for name in ("declared_by", "data_residency"):
            value = getattr(self, name)
            if not (isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST and value.isprintable()):
                raise DeclaredFactsError(f"{name} is a text of at most {_LONGEST} characters")
        days = self.retention_days
        if not (isinstance(days, int) and not isinstance(days, bool) and 0 <= days <= _MOST_DAYS):
            raise DeclaredFactsError(f"retention_days is a whole number from 0 to {_MOST_DAYS}")
        if not isinstance(self.trains_on_inputs, bool):
            raise DeclaredFactsError("trains_on_inputs is true or false")

    @property
    def faults(self) -> tuple[str, ...]:
        """The code of what speaks against the model."""
        return ("TRAINS_ON_INPUTS",) if self.trains_on_inputs else ()

    def as_json(self) -> dict[str, Any]:
        """Return the object that the file held."""
        return asdict(self)


def read_declared_facts(file: Path) -> DeclaredFacts:
    """Return what a file declares. Raises DeclaredFactsError, and OSError for a file that cannot be read."""
    try:
        document = json.loads(file.read_bytes())
        return DeclaredFacts(**document)
    except DeclaredFactsError:
        raise
    except (ValueError, TypeError) as error:
        names = ", ".join(DeclaredFacts.__dataclass_fields__)
        raise DeclaredFactsError(f"{file.name} is one JSON object with exactly {names}") from error
