"""What a deployment may decide about its questions, and the two forms in which an answer can be asked for. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, Self

from refunds.proposers.port import Scalar

MOST_OUTPUT_TOKENS: Final = 32_000  # more than any proposal needs
HIGHEST_TEMPERATURE: Final = 2  # the API's own range


class ResponseForm(StrEnum):
    """How a server is told what to answer with; the values are those of ``response_format.type``."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"  # for servers that refuse a schema: it stands in the instructions then


@dataclass(frozen=True, kw_only=True)
class ModelParameters:
    """What differs between servers that speak the same protocol.

    `temperature` is sent only if given, since some models refuse it. `length_limits` keeps minLength,
    maxLength and pattern in the schema that is sent: OpenAI's strict mode refuses them, local servers obey.
    Raises ValueError for what no server could use.
    """

    max_output_tokens: int = 1000
    output_limit_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    temperature: float | None = None
    length_limits: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.max_output_tokens <= MOST_OUTPUT_TOKENS:
            raise ValueError("max_output_tokens is from 1 to 32000")
        if self.output_limit_field not in {"max_completion_tokens", "max_tokens"}:
            raise ValueError("output_limit_field is max_completion_tokens or max_tokens")
        if not isinstance(self.length_limits, bool):
            raise TypeError("length_limits is true or false")
        if self.temperature is not None and not 0 <= self.temperature <= HIGHEST_TEMPERATURE:
            raise ValueError("temperature is from 0 to 2")

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Return the parameters that an operator wrote down; raises ValueError for what is none."""
        try:
            return cls(**values)
        except TypeError as error:
            raise ValueError("a parameter that does not exist, or of a wrong type") from error

    def as_evidence(self) -> dict[str, Scalar]:
        """Return the parameters as plain values; one that is not sent is not there."""
        found: dict[str, Scalar] = {
            "max_output_tokens": self.max_output_tokens,
            "output_limit_field": self.output_limit_field,
            "length_limits": self.length_limits,
        }
        return found if self.temperature is None else {**found, "temperature": float(self.temperature)}
