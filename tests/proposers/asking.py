"""Asking a model over HTTP, and the bodies that a server could answer with."""

import json
from typing import Any

from refunds.proposers.openai_compatible import OpenAICompatibleProposer
from refunds.proposers.port import ProposalResult
from tests.proposers.samples import context

MODEL = "demo-proposer-1"


def proposer_at(url: str, **more: Any) -> OpenAICompatibleProposer:
    return OpenAICompatibleProposer(base_url=url, api_key="sk-canary", model=MODEL, **more)


def ask(url: str, *, deadline: float = 10.0, repair_of: str | None = None, **more: Any) -> ProposalResult:
    return proposer_at(url, **more).propose(context(), deadline_seconds=deadline, repair_of=repair_of)


def completion(*choices: Any, **more: Any) -> bytes:
    return json.dumps(
        {"object": "chat.completion", "model": "m-1", "choices": list(choices), **more}
    ).encode()


def choice(finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": None, **message},
    }
