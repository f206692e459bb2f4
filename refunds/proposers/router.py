"""One model of the ordered list, behind its qualification and its breaker.

Whoever is not qualified in exactly this configuration is not asked. One that answers under another snapshot than the
one that qualified is not believed. Either way the next in line is asked, and the proposal's evidence names why.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import structlog

from refunds.proposers.breaker import Breaker, outcome_of
from refunds.proposers.port import ProposalContext, ProposalResult, Proposer, Unavailable, UnavailableKind
from refunds.proposers.qualification import ModelConfiguration, Qualification, find_qualification, is_of
from refunds.proposers.reading import MessageReader, ReadingContext

logger = structlog.get_logger("model")


@dataclass(frozen=True, kw_only=True)
class Admission:
    """What decides who may be asked: the stored qualifications, and the time.

    ``asked_for`` tells the people apart for whom models are asked; it goes nowhere but into the breaker, as a digest.
    """

    now: datetime
    qualifications: Sequence[Qualification] = ()
    asked_for: str = ""


class Model(Proposer, MessageReader, Protocol):
    """Something that can be asked both questions."""


@dataclass(frozen=True, kw_only=True)
class RoutedModel:
    """A configured model. It is never asked but through ``admitted``."""

    proposer: Model
    configuration: ModelConfiguration
    breaker: Breaker
    admits_any: bool = False  # only ever in the demo, which shows that money does not depend on a model

    def admitted(self, admission: Admission) -> "_Guarded | _NotAsked":
        """Return what to ask for one proposal or reading: the model behind its breaker, or a refusal to ask it."""
        found = find_qualification(self.configuration, admission.qualifications, now=admission.now)
        if isinstance(found, Qualification):
            return _Guarded(self, found, admission.asked_for)
        return _Guarded(self, None, admission.asked_for) if self.admits_any else _NotAsked(found)


@dataclass(frozen=True)
class _NotAsked:
    kind: UnavailableKind

    def propose(
        self, context: ProposalContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> Unavailable:
        """Say why, at once."""
        del context, deadline_seconds, repair_of
        return self.said

    def read_message(
        self, context: ReadingContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> Unavailable:
        """Say why, at once."""
        del context, deadline_seconds, repair_of
        return self.said

    @property
    def said(self) -> Unavailable:
        """Why it is not asked."""
        return Unavailable(kind=self.kind, detail="not asked", requests=0, latency_ms=0)


@dataclass(frozen=True)
class _Guarded:
    routed: RoutedModel
    qualification: Qualification | None
    asked_for: str

    def propose(
        self, context: ProposalContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> ProposalResult:
        """Ask for a proposal; see ``_taken``."""
        model = self.routed.proposer
        return self._taken(
            lambda: model.propose(context, deadline_seconds=deadline_seconds, repair_of=repair_of)
        )

    def read_message(
        self, context: ReadingContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> ProposalResult:
        """Ask for a reading; see ``_taken``."""
        model = self.routed.proposer
        return self._taken(
            lambda: model.read_message(context, deadline_seconds=deadline_seconds, repair_of=repair_of)
        )

    def _taken(self, ask: Callable[[], ProposalResult]) -> ProposalResult:
        """Ask if the breaker allows it, and take the answer if it comes from the model that qualified."""
        breaker = self.routed.breaker
        permit = breaker.admit()
        if not permit.allowed:
            return _NotAsked(UnavailableKind.CIRCUIT_OPEN).said
        outcome = None
        try:
            result = ask()
            outcome = outcome_of(result)
        finally:
            if outcome is None:
                breaker.release(permit)
            else:
                breaker.report(permit, outcome, asked_for=self.asked_for)
        wanted = self.qualification
        if isinstance(result, Unavailable) or wanted is None or is_of(result, wanted):
            return result
        logger.warning("model.changed", model=wanted.model, snapshot=result.model_snapshot, taken=False)
        return Unavailable(
            kind=UnavailableKind.MODEL_CHANGED,
            detail="not the one that qualified",
            requests=result.requests,
            latency_ms=result.latency_ms,
        )
