"""Which models may be asked: those that passed the evaluation in exactly the configuration that is in use. Pure.

A qualification is of one model at one address, asked with these prompts, this schema and these parameters, and of the
snapshot and the form of answer that it showed then. Whatever of that changes, the model is another one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

from ledger.canonical import canonical_sha256
from refunds.proposers.port import Declined, Proposed, Scalar, UnavailableKind


@dataclass(frozen=True, kw_only=True)
class ModelConfiguration:
    """What a model is asked with. The address may hold a name and a password, so it is shown by its host alone."""

    model: str
    base_url: str = field(repr=False)
    prompt_version: str
    schema_version: str
    parameters: dict[str, Scalar]

    @property
    def sha256(self) -> str:
        """The digest that a qualification holds."""
        return canonical_sha256(
            {
                "model": self.model,
                "base_url": self.base_url,
                "prompt_version": self.prompt_version,
                "schema_version": self.schema_version,
                "parameters": self.parameters,
            }
        )

    @property
    def endpoint_sha256(self) -> str:
        """The digest of what fails together: one model at one address, however it is asked."""
        return endpoint_sha256(base_url=self.base_url, model=self.model)

    @property
    def host(self) -> str:
        """Host and port of the address."""
        return endpoint_host(self.base_url)


@dataclass(frozen=True, kw_only=True)
class Qualification:
    """The newest evaluation of one configuration, as it is stored."""

    model: str
    configuration_sha256: str
    endpoint_sha256: str
    snapshot: str
    response_form: str
    passed: bool
    expires_at: datetime


def find_qualification(
    configuration: ModelConfiguration, known: Iterable[Qualification], *, now: datetime
) -> Qualification | UnavailableKind:
    """Return the qualification that lets this configuration be asked, or why it may not be."""
    wanted = configuration.sha256
    found = next((each for each in known if each.configuration_sha256 == wanted), None)
    if found is None or not found.passed:
        return UnavailableKind.NOT_QUALIFIED
    return found if now < found.expires_at else UnavailableKind.QUALIFICATION_EXPIRED


def is_of(answer: Proposed | Declined, qualification: Qualification) -> bool:
    """Say whether the one who answered is the one who qualified."""
    return (
        answer.model_snapshot == qualification.snapshot
        and answer.parameters.get("response_form") == qualification.response_form
    )


def endpoint_sha256(*, base_url: str, model: str) -> str:
    """Return the digest of one model at one address."""
    return canonical_sha256({"base_url": base_url, "model": model})


def endpoint_host(base_url: str) -> str:
    """Return host and port of an address, without the name and password that it may hold."""
    return urlsplit(base_url).netloc.rpartition("@")[2]
