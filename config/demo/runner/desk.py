"""Addresses and environments of one start of the demo."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from config.demo.runner.state_folder import StateFolder
from config.demo.services import ports

WEB_PORTS = range(8000, 8020)
# Whatever the person's own shell holds for these never reaches the demo.
REPLACED = ("STRIPE_", "OPENAI_", "ASSISTANT_", "DJANGO_", "GATEWAY_", "LEDGER_SOURCE_", "POLICY_SOURCE_")


@dataclass(frozen=True)
class Desk:
    """Where everything is. Ports are on 127.0.0.1."""

    state: StateFolder
    database_url: str
    redis_url: str
    web_port: int
    gateway_port: int
    model_port: int

    @property
    def preferred_port(self) -> int:
        """Where people expect the pages."""
        return WEB_PORTS[0]

    @property
    def web_url(self) -> str:
        """The address a person opens."""
        return f"http://{ports.HOST}:{self.web_port}"

    @property
    def gateway_url(self) -> str:
        """The payment provider's simulator."""
        return f"http://{ports.HOST}:{self.gateway_port}"

    @property
    def model_url(self) -> str:
        """The model's simulator."""
        return f"http://{ports.HOST}:{self.model_port}"

    def book(self, name: str) -> Path:
        """Where a simulator keeps its own record."""
        return self.state.path / "books" / f"{name}.sqlite3"

    @cached_property
    def env(self) -> dict[str, str]:
        """What every part gets; neither the gateway's nor the model's credentials are in it."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(REPLACED)}
        return {
            **kept,
            # Libraries that keep files of their own (stripe: an id for its statistics) keep them here.
            "XDG_CONFIG_HOME": str(self.state.path / "home"),
            "XDG_CACHE_HOME": str(self.state.path / "home"),
            "PYTHONUNBUFFERED": "1",
            "DEMO_MODE": "1",
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "SECRET_KEY": self.state.secret_key(),
            "ALLOWED_HOSTS": f"{ports.HOST},localhost",
            "PUBLIC_URL": self.web_url,
            "EMAIL_URL": (self.state.path / "mail").as_uri(),
            "AUDIT_SINK": (self.state.path / "audit.jsonl").as_uri(),
            "RECOVERY_INTERVAL_SECONDS": "2",
            "GATEWAY_TIMEOUT_SECONDS": "3",
            "LOG_FORMAT": "text",
        }

    @cached_property
    def gateway_env(self) -> dict[str, str]:
        """For the parts that move money."""
        return {**self.env, "STRIPE_API_KEY": "sk_test_demo", "STRIPE_API_BASE": self.gateway_url}

    @cached_property
    def model_env(self) -> dict[str, str]:
        """For the parts that ask the model."""
        return {
            **self.env,
            "OPENAI_BASE_URL": f"{self.model_url}/v1",
            "OPENAI_API_KEY": "demo",
            "ASSISTANT_MODELS": "demo-proposer-1",
        }


def open_desk(state: StateFolder, *, database_url: str, redis_url: str) -> Desk:
    """Choose the ports: 8000 for the pages if it is free, else the next free one."""
    return Desk(
        state=state,
        database_url=database_url,
        redis_url=redis_url,
        web_port=ports.first_free(WEB_PORTS),
        gateway_port=ports.free_port(),
        model_port=ports.free_port(),
    )
