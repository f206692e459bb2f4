"""The one reader of the environment: every variable is read, checked and named here, and nowhere else."""

import os
import sys
from typing import Annotated, Literal, NoReturn

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from refunds.gateways.contract import STRIPE_V1, with_overrides
from refunds.proposers.parameters import ModelParameters

CommaSeparated = Annotated[tuple[str, ...], NoDecode]


class Environment(BaseSettings):
    """What a deployment decides. Amounts and limits are policy versions, never settings."""

    model_config = SettingsConfigDict(env_file=None, extra="ignore", case_sensitive=True)

    DATABASE_URL: str = Field(pattern=r"^postgres(ql)?://")
    REDIS_URL: str = Field(pattern=r"^(redis|rediss|redis\+socket)://")
    SECRET_KEY: str = Field(min_length=50)
    ALLOWED_HOSTS: CommaSeparated = ()
    PUBLIC_URL: str = Field(default="http://127.0.0.1:8000", pattern=r"^https?://[^/\s]+$")
    # How many proxies of this deployment append to X-Forwarded-For; 0 reads the address of the connection.
    TRUSTED_PROXY_COUNT: int = Field(default=0, ge=0, le=10)
    NEW_REQUESTS_PER_MINUTE: int = Field(default=30, ge=1, le=10_000)  # by one customer
    API_TOKEN_DAYS: int = Field(default=90, ge=1, le=365)
    OPENAI_BASE_URL: str = ""
    OPENAI_API_KEY: str = ""
    ASSISTANT_MODELS: CommaSeparated = ()
    ASSISTANT_DEADLINE_SECONDS: float = Field(default=8.0, gt=0, le=60)
    # How every model is asked, as JSON: temperature, max_output_tokens, output_limit_field, length_limits.
    ASSISTANT_PARAMETERS: dict[str, bool | int | float | str] = Field(default_factory=dict)
    MODEL_QUALIFICATION_DAYS: int = Field(default=90, ge=1, le=365)  # how long a passed evaluation counts
    STRIPE_API_KEY: str = ""
    STRIPE_API_BASE: str = Field(default="https://api.stripe.com", pattern=r"^https?://")
    STRIPE_WEBHOOK_SECRETS: CommaSeparated = ()  # any may match, so that one can be rolled; none refuses all
    GATEWAY_CONTRACT_OVERRIDES: dict[str, float | tuple[float, ...]] = Field(default_factory=dict)
    GATEWAY_TIMEOUT_SECONDS: float = Field(default=20.0, gt=0, le=120)
    # Where orders and payments are read from (docs/ledger-source.md); empty: from this database's own tables.
    LEDGER_SOURCE_URL: str = Field(default="", pattern=r"^(https?://[^/?#@\s]+(/[^?#\s]*)?)?$")
    LEDGER_SOURCE_TOKEN: str = Field(default="", pattern=r"^[!-~]*$")
    LEDGER_SOURCE_TIMEOUT_SECONDS: float = Field(default=5.0, gt=0, le=30)  # of one attempt, as a whole
    RECOVERY_INTERVAL_SECONDS: float = Field(default=30.0, ge=1, le=3600)
    EMAIL_URL: str = Field(default="console:", pattern=r"^(console:|file:///|smtps?://)")
    AUDIT_SINK: str = Field(default="log:", pattern=r"^(log:|file:///)")
    # Who may read /metrics: holders of this token; without one, this machine alone.
    METRICS_TOKEN: str = Field(default="", pattern=r"^([!-~]{16,200})?$")
    DEMO_MODE: bool = False
    DEMO_BREAK: Literal["", "new_key", "lost_event", "double_submit"] = ""
    # The simulated provider, whose book the demo shows beside ours.
    DEMO_GATEWAY_URL: str = Field(
        default="", pattern=r"^(http://(127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5})?$"
    )
    # Ask the configured models although none of them qualified, to show that money does not depend on them.
    DEMO_ADMITS_ANY_MODEL: bool = False
    # One more detector for what people write, beside our own (docs/operations/redaction.md).
    PERSONAL_DATA_DETECTOR: Literal["", "presidio"] = ""
    LOG_FORMAT: Literal["json", "text"] = "json"

    @field_validator("ALLOWED_HOSTS", "ASSISTANT_MODELS", "STRIPE_WEBHOOK_SECRETS", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @model_validator(mode="after")
    def _parameters_hold(self) -> "Environment":
        try:
            ModelParameters.read(self.ASSISTANT_PARAMETERS)
        except ValueError as error:
            raise ValueError(f"ASSISTANT_PARAMETERS: {error}") from error
        return self

    @model_validator(mode="after")
    def _contract_holds(self) -> "Environment":
        contract = with_overrides(STRIPE_V1, self.GATEWAY_CONTRACT_OVERRIDES)
        if contract.in_flight_horizon_seconds <= self.GATEWAY_TIMEOUT_SECONDS:
            raise ValueError("in_flight_horizon_seconds must be longer than GATEWAY_TIMEOUT_SECONDS")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> "Environment":
        if self.ASSISTANT_MODELS and not self.OPENAI_BASE_URL:
            raise ValueError("ASSISTANT_MODELS names a model, but OPENAI_BASE_URL is empty")
        if not self.DEMO_MODE and self.STRIPE_API_KEY and self.STRIPE_API_BASE.startswith("http://"):
            raise ValueError("STRIPE_API_BASE must be https outside DEMO_MODE")
        if not self.DEMO_MODE and self.OPENAI_BASE_URL and not self.OPENAI_BASE_URL.startswith("https://"):
            # A loopback address too: what listens there outside the demo is not known to be the simulator.
            raise ValueError("OPENAI_BASE_URL must be https outside DEMO_MODE")
        if not self.DEMO_MODE and self.LEDGER_SOURCE_URL.startswith("http://"):
            raise ValueError("LEDGER_SOURCE_URL must be https outside DEMO_MODE")
        if self.DEMO_BREAK and not self.DEMO_MODE:
            raise ValueError("DEMO_BREAK plants a fault and needs DEMO_MODE")
        if self.DEMO_ADMITS_ANY_MODEL and not self.DEMO_MODE:
            raise ValueError("DEMO_ADMITS_ANY_MODEL asks models that nobody tried and needs DEMO_MODE")
        if self.DEMO_GATEWAY_URL and not self.DEMO_MODE:
            raise ValueError("DEMO_GATEWAY_URL names a simulator and needs DEMO_MODE")
        return self


def read_environment() -> Environment:
    """Read and check the environment; a wrong or missing value stops the start with one clear line."""
    try:
        return Environment.model_validate({})
    except ValidationError as error:
        _stop(error)


def _stop(error: ValidationError) -> NoReturn:
    """Name each variable and what is wrong with it; values are not printed, since some are secrets."""
    problems = "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'environment'}: {item['msg']}"
        for item in error.errors(include_input=False, include_url=False)
    )
    sys.stderr.write(f"refund desk: the environment is not usable: {problems}\n")
    raise SystemExit(os.EX_CONFIG)
