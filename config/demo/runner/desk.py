"""Addresses and environments of one start of the demo."""

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from config.demo.local_model.weights import NAME
from config.demo.runner.state_folder import StateFolder
from config.demo.services import ports

WEB_PORTS = range(8000, 8020)
MODEL = "demo-proposer-1"
# Whatever the person's own shell holds for these never reaches the demo.
REPLACED = ("STRIPE_", "OPENAI_", "ASSISTANT_", "DJANGO_", "GATEWAY_", "LEDGER_SOURCE_", "POLICY_SOURCE_")
# Nobody watches a demo for a quarter of an hour: how long a call may still run, and the waits between look-ups. What
# the simulator promises does not age: its record is never too old.
SHORT_WINDOWS = {
    "in_flight_horizon_seconds": 5,
    "reconciliation_intervals": [2, 3, 5, 10, 20],
    "review_valid_seconds": 100 * 365 * 86400,
}

# A real model on a CPU thinks for seconds, and goes on to the limit unless the schema stops it.
_LOCAL_MODEL = {
    "DEMO_ADMITS_ANY_MODEL": "1",  # it would not qualify, and need not
    "ASSISTANT_MODELS": NAME,
    "ASSISTANT_DEADLINE_SECONDS": "60",
    "ASSISTANT_PARAMETERS": json.dumps({"temperature": 0.0, "max_output_tokens": 250, "length_limits": True}),
}


@dataclass(frozen=True)
class Desk:
    """Where everything is. Ports are on 127.0.0.1."""

    state: StateFolder
    database_url: str
    redis_url: str
    web_port: int
    gateway_port: int
    model_port: int
    shop_port: int
    mail_port: int
    smtp_port: int
    local_model: bool = False
    """A real model answers in the simulator's place."""

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
        """The model's simulator, or the model itself."""
        return f"http://{ports.HOST}:{self.model_port}"

    @property
    def shop_url(self) -> str:
        """The shop's simulator: orders and payments are read from it."""
        return f"http://{ports.HOST}:{self.shop_port}"

    @property
    def mail_url(self) -> str:
        """The control side of the mail server's simulator."""
        return f"http://{ports.HOST}:{self.mail_port}"

    @property
    def mailbox(self) -> Path:
        """Where the mail server keeps what it accepted."""
        return self.state.path / "mail"

    @property
    def shop_orders(self) -> Path:
        """The orders that the shop's simulator got beside its own; it forgets them when it stops."""
        return self.state.path / "books" / "shop.json"

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
            "EMAIL_URL": f"smtp://{ports.HOST}:{self.smtp_port}",
            "AUDIT_SINK": (self.state.path / "audit.jsonl").as_uri(),
            "RECOVERY_INTERVAL_SECONDS": "2",
            "GATEWAY_TIMEOUT_SECONDS": "3",
            "LOG_FORMAT": "text",
        }

    @cached_property
    def gateway_env(self) -> dict[str, str]:
        """For the parts that move money."""
        return {
            **self.env,
            **self._source,
            "STRIPE_API_KEY": "sk_test_demo",
            "STRIPE_API_BASE": self.gateway_url,
            "GATEWAY_CONTRACT_OVERRIDES": json.dumps(SHORT_WINDOWS),
        }

    @cached_property
    def model_env(self) -> dict[str, str]:
        """For the parts that ask the model."""
        return {
            **self.env,
            **self._source,
            "OPENAI_BASE_URL": f"{self.model_url}/v1",
            "OPENAI_API_KEY": "demo",
            **(_LOCAL_MODEL if self.local_model else {"ASSISTANT_MODELS": MODEL}),
        }

    @cached_property
    def web_env(self) -> dict[str, str]:
        """For the pages: they take the provider's events, and read the shop when staff rebuild a command.

        The address of the provider's simulator is for the demo's own page; the provider itself they cannot ask.
        """
        return {
            **self.env,
            **self._source,
            "STRIPE_WEBHOOK_SECRETS": self.state.webhook_secret(),
            "DEMO_GATEWAY_URL": self.gateway_url,
        }

    @property
    def _source(self) -> dict[str, str]:
        return {
            "LEDGER_SOURCE_URL": self.shop_url,
            "LEDGER_SOURCE_TOKEN": "shop-simulator",
            "LEDGER_SOURCE_TIMEOUT_SECONDS": "2",
        }


def open_desk(state: StateFolder, *, database_url: str, redis_url: str, local_model: bool = False) -> Desk:
    """Choose the ports: 8000 for the pages if it is free, else the next free one."""
    return Desk(
        state=state,
        database_url=database_url,
        redis_url=redis_url,
        web_port=ports.first_free(WEB_PORTS),
        gateway_port=ports.free_port(),
        model_port=ports.free_port(),
        shop_port=ports.free_port(),
        mail_port=ports.free_port(),
        smtp_port=ports.free_port(),
        local_model=local_model,
    )
