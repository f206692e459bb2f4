"""What is kept of a question to a model and of its answer, on proposals and on readings alike: digests, no words."""

from typing import Any

from ledger.models import text_sha256
from refunds.proposers.port import Declined, Proposed


def asked_columns(answer: Proposed | Declined) -> dict[str, Any]:
    """Return the columns that say exactly what was asked and answered, and how long it took."""
    return {
        "model_snapshot": answer.model_snapshot[:120],
        "prompt_version": answer.prompt_version,
        "prompt_sha256": answer.prompt_sha256,
        "context_sha256": answer.context_sha256,
        "request_sha256": answer.request_sha256,
        "parameters": dict(answer.parameters),
        "output_sha256": text_sha256(answer.raw_text),
        "latency_ms": answer.latency_ms,
    }
