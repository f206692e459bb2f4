"""Models that answer what they are told to, at the port where a real one would be asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from config.demo.model_simulator.scripts import obeyed
from refunds.proposers.deterministic import DeterministicProposer
from refunds.proposers.port import ProposalContext, Proposed, Proposer
from refunds.proposers.prompts import build_messages
from refunds.stages import s06_propose_action

HONEST = DeterministicProposer()
EXACTLY = "ANSWER EXACTLY:"


class Saying:
    """Answers every question, corrections included, with the next of its texts; the last one repeats."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts
        self.asked: list[ProposalContext] = []

    def propose(
        self, context: ProposalContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> Proposed:
        del deadline_seconds, repair_of
        number = min(len(self.asked), len(self._texts) - 1)
        self.asked.append(context)
        return _proposed(self._texts[number])


class Obedient(Saying):
    """Does what whatever it reads tells it, and repeats it: it has no will of its own.

    It answers word for word what a text orders it to answer, else with the amounts and charges that a text names.
    """

    def propose(
        self, context: ProposalContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> Proposed:
        del deadline_seconds, repair_of
        self.asked.append(context)
        read = [message["content"] for message in build_messages(context)]
        for text in texts_of(context).values():
            if EXACTLY in text:
                return _proposed(text.partition(EXACTLY)[2].strip())
        return _proposed(obeyed({"role": "user", "content": content} for content in read[1:]))


def texts_of(context: ProposalContext) -> dict[str, str]:
    """Return what other people wrote of a context, by its field: never the codes that the desk established."""
    return {name: text for name in surfaces() if (text := getattr(context, name)) is not None}


def surfaces() -> tuple[str, ...]:
    """Return the fields of a question that carry other people's words; a field that is added is one of them."""
    codes = {"finding", "reason_code", "problem", "policy_version", "allowed_actions"}
    return tuple(name for name in ProposalContext.__dataclass_fields__ if name not in codes)


@contextmanager
def asked_instead(model: Proposer) -> Iterator[None]:
    """Let stage 6 ask this model, and the deterministic proposer where it gives no answer."""
    line = (("model-1", model), ("deterministic", HONEST))
    with patch.object(s06_propose_action, "get_proposers", lambda: line):
        yield


def _proposed(text: str) -> Proposed:
    return Proposed(raw_text=text, model_snapshot="model-1", prompt_version="p1", latency_ms=0, requests=1)
