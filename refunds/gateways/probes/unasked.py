"""Facts that the contract rests on and that nobody can ask for politely: they stay open, and are named. Pure."""

from collections.abc import Callable
from typing import Final

from refunds.gateways.probes.records import Finding, Outcome, Probe, Probing, Situation


def _because(why: str) -> Callable[[Situation], Probing]:
    def probing(_situation: Situation) -> Probing:
        yield from ()
        return Finding(Outcome.OPEN, f"not asked: {why}")

    return probing


UNASKED: Final = (
    Probe(
        name="keys-are-kept-for-a-day",
        fact="a key stands for its first use for at least 24 hours",
        source="docs.stripe.com/api/idempotent_requests",
        run=_because("takes a day"),
    ),
    Probe(
        name="key-in-use-is-409",
        fact="a key whose request is still executing is 409 idempotency_key_in_use",
        source="docs.stripe.com/error-codes",
        run=_because("needs a request that is under way"),
    ),
    Probe(
        name="500-is-kept",
        fact="a 500 is kept under its key and may take effect later",
        source="docs.stripe.com/error-low-level",
        run=_because("needs a failure of the provider"),
    ),
    Probe(
        name="limiter-names-itself",
        fact="a limiter's 429 has Stripe-Rate-Limited-Reason, a lock's 429 has not",
        source="docs.stripe.com/rate-limits",
        run=_because("needs more requests than are polite"),
    ),
)
