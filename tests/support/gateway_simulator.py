"""The gateway simulator as a subprocess on a free port with a book of its own."""

import time
from pathlib import Path
from typing import Any

from tests.support.simulator_process import SimulatorProcess


class GatewaySimulator(SimulatorProcess):
    """Starts on construction; ``restart`` keeps the port and the book.

    ``with GatewaySimulator(book=tmp_path / "book.sqlite3") as simulator: ...``
    """

    module = "config.demo.gateway_simulator"
    api_key = "sk_test_simulator"
    webhook_secret = "whsec_simulator"

    def __init__(self, *, book: Path, webhook_url: str | None = None) -> None:
        self.book = book
        self._webhook_url = webhook_url
        super().__init__()

    @property
    def url(self) -> str:
        """The address for STRIPE_API_BASE."""
        return self.origin

    def arguments(self) -> list[str]:
        arguments = ["--book", str(self.book), "--no-sync"]
        if self._webhook_url is None:
            return arguments
        return [*arguments, "--webhook-url", self._webhook_url, "--webhook-secret", self.webhook_secret]

    def seed_charge(self, charge: str, *, amount: int, currency: str = "usd", **more: Any) -> str:
        """Put a captured charge into the book; ``more`` are the other fields of a seed. Returns its id."""
        self.control("POST", "charges", {"id": charge, "amount": amount, "currency": currency, **more})
        return charge

    def refunds(self, charge: str | None = None) -> list[dict[str, Any]]:
        """Return what the provider has booked, oldest first: the truth."""
        found = self.control("GET", f"refunds?charge={charge}" if charge else "refunds")["refunds"]
        assert isinstance(found, list)
        return found

    def set_refund_status(self, refund: str, status: str, *, failure_reason: str | None = None) -> None:
        """Let time pass for one refund: pending to succeeded, succeeded to failed. Its events are sent."""
        order = {"status": status, "failure_reason": failure_reason, "unrecognised": True}
        self.control("POST", f"refunds/{refund}", order)

    def seed_refund(self, charge: str, **more: Any) -> dict[str, Any]:
        """Book a refund unchecked and untold: id, amount, status, metadata, created (seconds), tell."""
        (made,) = self.control("POST", "refunds", {"charge": charge, **more})["refunds"]
        return dict(made)

    def dashboard_refund(self, charge: str, **more: Any) -> dict[str, Any]:
        """Refund a charge as the merchant's staff would, and tell it: amount, reason, metadata."""
        return dict(self.control("POST", "dashboard/refunds", {"charge": charge, **more}))

    def open_dispute(self, charge: str, **more: Any) -> dict[str, Any]:
        """Open a dispute and tell it: amount, reason, status."""
        return dict(self.control("POST", "disputes", {"charge": charge, **more}))

    def close_dispute(self, dispute: str, status: str) -> None:
        """Close a dispute as won, lost or warning_closed, and tell it."""
        self.control("POST", f"disputes/{dispute}", {"status": status})

    def escalate_dispute(self, dispute: str) -> None:
        """Turn an inquiry into a dispute, and tell it."""
        self.control("POST", f"disputes/{dispute}", {"status": "needs_response"})

    def cancel_in_dashboard(self, refund: str, **more: Any) -> dict[str, Any]:
        """Cancel a refund as the merchant's staff would, and tell it."""
        return dict(self.control("POST", "dashboard/cancellations", {"refund": refund, **more}))

    def expire_authorisation(self, charge: str, **more: Any) -> dict[str, Any]:
        """Let an uncaptured charge run out, and return the refund that shows it."""
        return dict(self.control("POST", f"charges/{charge}/expire", more))

    def charges(self) -> list[dict[str, Any]]:
        """Return every charge in the book."""
        found = self.control("GET", "charges")["charges"]
        assert isinstance(found, list)
        return found

    def set_balance(self, currency: str, available: int, **more: Any) -> None:
        """Limit the merchant's balance; refunds that it covers now succeed, and are told."""
        self.control("POST", "balance", {"currency": currency, "available": available, **more})

    def advance(self, seconds: float) -> None:
        """Move the provider's clock forward: keys age, refunds settle, webhooks fall due."""
        self.control("POST", "clock", {"advance_seconds": seconds})

    def provider_now(self) -> float:
        """Return the provider's time, in seconds since 1970."""
        return float(self.control("GET", "clock")["now"])

    def set_undocumented(self, **settings: Any) -> None:
        """Decide what the provider does not document; a reset undoes it."""
        self.control("POST", "settings", settings)

    def roll_secret(self, url: str, secret: str, **more: Any) -> None:
        """Give an endpoint a new webhook secret; the old one goes on for ``seconds``."""
        self.control("POST", "webhooks/roll", {"url": url, "secret": secret, **more})

    def forget_keys(self, key: str | None = None) -> int:
        """Prune idempotency keys as the provider does after 24 hours, all or one; return how many."""
        return int(self.control("POST", "keys/forget", {"idempotency_key": key})["forgotten"])

    def add_endpoint(self, url: str, *secrets: str, **more: Any) -> None:
        """Send events to this address from now on; ``more``: api_version, types."""
        self.control("POST", "webhooks/endpoints", {"url": url, "secrets": list(secrets), **more})

    def remove_endpoints(self) -> None:
        """Tell nobody."""
        self.control("DELETE", "webhooks/endpoints")

    def webhook_patience(self, **settings: Any) -> None:
        """Change attempts, retry_seconds, timeout_seconds, for_seconds of deliveries."""
        self.control("POST", "webhooks/settings", settings)

    def bend_webhooks(self, **knob: Any) -> None:
        """Arm one webhook knob: early, seconds, copies, twin, reordered, held, lost, wrong_secret, and more."""
        self.control("POST", "webhooks/knobs", knob)

    def release_webhooks(self, **chosen: Any) -> int:
        """Send held events: events (in this order), type, charge, newest_first; return how many."""
        return int(self.control("POST", "webhooks/release", chosen)["released"])

    def resend_webhook(self, event: str, *, copies: int = 1) -> int:
        """Send an event again, as from the provider's dashboard."""
        return int(self.control("POST", "webhooks/resend", {"event": event, "copies": copies})["resent"])

    def send_event(self, event_type: str, thing: dict[str, Any], **more: Any) -> None:
        """Send any event, also of a type that the provider does not have."""
        self.control("POST", "webhooks/events", {"type": event_type, "object": thing, **more})

    def deliveries(self, *, state: str | None = None) -> list[dict[str, Any]]:
        """Return every webhook delivery, oldest first: event, type, body, state, attempts."""
        found = self.control("GET", "webhooks" + (f"?state={state}" if state else ""))["deliveries"]
        assert isinstance(found, list)
        return found

    def wait_until_sent(self, *, seconds: float = 10.0) -> list[dict[str, Any]]:
        """Return all deliveries once none waits for its turn."""
        deadline = time.monotonic() + seconds
        while self.deliveries(state="waiting"):
            if time.monotonic() > deadline:
                raise TimeoutError("some webhook deliveries are still under way")
            time.sleep(0.01)
        return self.deliveries()

    def log(self, *, method: str | None = None) -> list[dict[str, Any]]:
        """Return every API request with time, headers and body, oldest first, all methods or one."""
        entries = self.control("GET", "log")["requests"]
        return [entry for entry in entries if method in (None, entry["method"])]

    def arm(self, kind: str, **more: Any) -> None:
        """Arm one fault; ``more`` are its other fields: charge, idempotency_key, count, seconds, status, on."""
        self.control("POST", "faults", {"kind": kind, **more})

    def disarm(self) -> None:
        """Disarm every fault and let waiting requests go on."""
        self.control("DELETE", "faults")

    def release(self, charge: str | None = None) -> int:
        """Let waiting requests go on, and return how many there were."""
        return int(self.control("POST", "release", {"charge": charge})["released"])

    def wait_until_waiting(self, count: int = 1, *, seconds: float = 10.0) -> None:
        """Return once so many requests wait for a release."""
        deadline = time.monotonic() + seconds
        while self.control("GET", "faults")["waiting"] < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"fewer than {count} requests reached the simulator")
            time.sleep(0.01)
