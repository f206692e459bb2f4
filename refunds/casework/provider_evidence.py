"""What a person found at the provider about one operation, checked before it is kept.

Digests and allow-listed fields go into evidence; the provider's words are kept where they can be erased.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from approvals.models import ApprovalRequest, EvidenceAttachment
from ledger.actors import Actor
from ledger.card_numbers import has_card_number
from ledger.intake import IntakeRefusedError, check_note
from ledger.models import ErasableText
from ledger.models.erasable import text_sha256
from refunds.casework.refusals import CaseWorkRefusedError

_PROVIDER_REFERENCE: Final = re.compile(r"[A-Za-z0-9_.:#/\-]{1,100}")


class EvidenceSource(StrEnum):
    """Where a person looked."""

    DASHBOARD = "DASHBOARD"
    REQUEST_LOG = "REQUEST_LOG"
    SUPPORT_ANSWER = "SUPPORT_ANSWER"
    REPORT = "REPORT"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderStatement:
    """One finding at the provider: where, when (aware), under which reference of theirs, and its words."""

    source: str
    seen_at: datetime
    provider_reference: str
    words: str

    @property
    def sha256(self) -> str:
        """Return the digest of the words."""
        return text_sha256(self.words)

    def as_evidence(self) -> dict[str, Any]:
        """Return what the command and its fingerprint hold of it."""
        return attachment_json(kind=self.source, sha256=self.sha256, facts=self.facts())

    def facts(self) -> dict[str, str]:
        """Return the allow-listed fields."""
        seen = self.seen_at.astimezone(UTC).isoformat()
        return {"provider_reference": self.provider_reference, "seen_at": seen}


def attachment_json(*, kind: str, sha256: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Return one attachment as plain JSON, the same from what was typed and from what is stored."""
    return {"kind": str(kind), "sha256": sha256, "facts": dict(facts)}


def is_provider_reference(text: str) -> bool:
    """Tell whether this may be kept as an id of the provider's; a card number stands in no evidence."""
    return bool(_PROVIDER_REFERENCE.fullmatch(text)) and not has_card_number(text)


def check_statement(found: ProviderStatement, *, from_when: datetime, now: datetime) -> ProviderStatement:
    """Return the finding with its words trimmed; raise ``CaseWorkRefusedError``.

    What was seen before ``from_when``, while the last call might still have been running, says nothing about it.
    """
    if found.source not in set(EvidenceSource):
        raise CaseWorkRefusedError("EVIDENCE_KIND_UNKNOWN")
    if not _PROVIDER_REFERENCE.fullmatch(found.provider_reference) or has_card_number(
        found.provider_reference
    ):
        raise CaseWorkRefusedError("EVIDENCE_REFERENCE_INVALID")
    if found.seen_at > now:
        raise CaseWorkRefusedError("EVIDENCE_FROM_THE_FUTURE")
    if found.seen_at < from_when:
        raise CaseWorkRefusedError("EVIDENCE_BEFORE_THE_CALL")
    try:
        words = check_note(found.words)
    except IntakeRefusedError as refused:
        raise CaseWorkRefusedError(refused.code.replace("NOTE", "EVIDENCE")) from refused
    if not words:
        raise CaseWorkRefusedError("EVIDENCE_REQUIRED")
    return ProviderStatement(
        source=found.source,
        seen_at=found.seen_at,
        provider_reference=found.provider_reference,
        words=words,
    )


def attach(approval: ApprovalRequest, found: ProviderStatement, *, by: Actor, now: datetime) -> None:
    """Keep the finding beside the decision that rests on it, in the caller's transaction."""
    text = ErasableText.keep(found.words, now=now)
    EvidenceAttachment.objects.create(
        approval=approval,
        number=approval.attachments.count() + 1,
        kind=found.source,
        facts=found.facts(),
        text=text,
        sha256=text.sha256,
        attached_by=by.id,
        at=now,
    )


def attached(approval: ApprovalRequest) -> list[dict[str, Any]]:
    """Return what is attached to a decision, as its command names it; words that changed since are no evidence."""
    rows = approval.attachments.select_related("text").order_by("number")
    return [
        attachment_json(kind=row.kind, sha256=text_sha256(row.text.body), facts=row.facts) for row in rows
    ]
