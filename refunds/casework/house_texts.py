"""A merchant's own texts: one person uploads one, another approves exactly it, and anybody who may takes it away.

Each function is one transaction; the locks are taken in the order merchant, text, approval. Nothing here reads what
a text says: it never decides, and an approval only lets a model be given it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet

from approvals.models import ApprovalRequest
from approvals.services import CommandToApprove, DecisionRefusedError, consume, request_approval, vote
from approvals.states import ApprovalState, SubjectKind
from ledger.actors import Actor
from ledger.canonical import canonical_sha256
from ledger.ids import new_id
from ledger.intake import IntakeRefusedError, check_note
from ledger.models import Merchant
from ledger.transitions import Why, commit_transition, create_with_event, lock_row
from policies.document_metadata import check_metadata
from policies.document_text import check_body, check_language, check_title
from policies.models import KnowledgeDocument
from policies.states import DocumentState
from refunds.casework.permission import may_work_for
from refunds.casework.refusals import KnowledgeRefusedError
from refunds.evidence.notes import keep_note

STAGE: Final = "KNOWLEDGE"
ACTION: Final = "ACTIVATE_DOCUMENT"
MOST_STANDING: Final = 200  # of one merchant, waiting or active: a search never looks at more
_VALID_FOR: Final = timedelta(hours=1)  # it is used in the transaction that grants it


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """What a person uploads for a merchant, as it was typed; ``metadata`` is JSON or empty."""

    merchant_id: int
    staff_user_id: int
    title: str
    body: str
    language: str
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The text that waits for another person now, and the names in its metadata that were ignored."""

    document_id: str
    ignored: tuple[str, ...]


def upload_text(asked: Upload, *, now: datetime) -> Uploaded:
    """Store a text, which nobody is given yet, and put it before others.

    Raises ``DocumentRefusedError`` and ``KnowledgeRefusedError``; nothing was stored then.
    """
    if not may_work_for(merchant_id=asked.merchant_id, staff_user_id=asked.staff_user_id):
        raise KnowledgeRefusedError("NOT_ALLOWED")
    metadata = check_metadata(asked.metadata)
    actor = Actor.staff(asked.staff_user_id)
    document = KnowledgeDocument(
        id=new_id("kd"),
        merchant_id=asked.merchant_id,
        title=check_title(asked.title),
        body=check_body(asked.body),
        language=check_language(asked.language),
        metadata=metadata.kept,
        uploaded_by=actor.id,
        created_at=now,
    )
    document.content_sha256 = document.digest()
    with transaction.atomic():
        # One upload after the other: two at once would not see each other, and both take the last place.
        Merchant.objects.select_for_update(no_key=True).get(pk=document.merchant_id)
        _require_room(document)
        _put_before_others(document, actor, now)
    return Uploaded(document.pk, metadata.ignored)


def decide_text(
    *, document_id: str, approve: bool, staff_user_id: int, fingerprint: str, note: str, now: datetime
) -> None:
    """Record another person's decision about exactly what they saw: from then on it is given to models, or never.

    Raises ``KnowledgeRefusedError``; nothing was recorded then.
    """
    _require_permission(document_id, staff_user_id)
    if not approve and not note.strip():
        raise KnowledgeRefusedError("NOTE_REQUIRED")
    actor = Actor.staff(staff_user_id)
    with transaction.atomic():
        document = lock_row(KnowledgeDocument, document_id)
        asked = ApprovalRequest.objects.get(subject_kind=SubjectKind.POLICY, subject_id=document.pk)
        said = {"approval_id": asked.pk, "content_sha256": document.content_sha256, **_kept(note, now)}
        why = Why(actor, STAGE, "APPROVED" if approve else "REJECTED", evidence=said)
        try:
            approval = vote(
                approval_id=asked.pk,
                approve=approve,
                fingerprint=fingerprint,
                voter_id=actor.id,
                why=why,
                now=now,
            )
        except DecisionRefusedError as refused:
            raise KnowledgeRefusedError(refused.code) from refused
        if _fingerprint(command_about(document)) != approval.request_fingerprint:
            raise KnowledgeRefusedError("FINGERPRINT_CHANGED")
        if approval.state == ApprovalState.GRANTED:
            consume(approval, why, now=now)
            commit_transition(document, DocumentState.ACTIVE, why, now=now)
        elif approval.state == ApprovalState.REJECTED:
            commit_transition(document, DocumentState.REJECTED, why, now=now)


def retire_text(*, document_id: str, staff_user_id: int, note: str, now: datetime) -> None:
    """Take an active text out of use, by one person: less is given to models then, and nothing else changes.

    It stays readable, since proposals name it. Raises ``KnowledgeRefusedError``.
    """
    _require_permission(document_id, staff_user_id)
    with transaction.atomic():
        document = lock_row(KnowledgeDocument, document_id)
        if document.state != DocumentState.ACTIVE:
            raise KnowledgeRefusedError("NOT_ACTIVE")
        said = {"content_sha256": document.content_sha256, **_kept(note, now)}
        why = Why(Actor.staff(staff_user_id), STAGE, "RETIRED", evidence=said)
        commit_transition(document, DocumentState.RETIRED, why, now=now)


def command_about(document: KnowledgeDocument) -> dict[str, Any]:
    """Return what another person approves, as plain JSON; its digest is taken of the row as it is now."""
    return {
        "action": ACTION,
        "document_id": document.pk,
        "content_sha256": document.digest(),
        "title": document.title,
        "merchant_id": document.merchant_id,
    }


def _put_before_others(document: KnowledgeDocument, actor: Actor, now: datetime) -> None:
    why = Why(actor, STAGE, "UPLOADED", evidence={"content_sha256": document.content_sha256})
    create_with_event(document, why, now=now)
    command = command_about(document)
    wanted = CommandToApprove(
        merchant_id=document.merchant_id,
        subject_kind=SubjectKind.POLICY,
        subject_id=document.pk,
        command=command,
        command_number=1,
        request_fingerprint=_fingerprint(command),
        maker_id=actor.id,
        policy_version="",
        valid_for=_VALID_FOR,
    )
    request_approval(wanted, approvals_needed=1, rule="", why=why, now=now)


def _require_permission(document_id: str, staff_user_id: int) -> None:
    """Staff act on their own merchant's texts, if they may; what another merchant has is not told."""
    found = KnowledgeDocument.objects.filter(pk=document_id).values_list("merchant_id", flat=True).first()
    if found is None:
        raise KnowledgeRefusedError("NO_SUCH_TEXT")
    if not may_work_for(merchant_id=found, staff_user_id=staff_user_id):
        raise KnowledgeRefusedError("NOT_ALLOWED")


def _require_room(document: KnowledgeDocument) -> None:
    if _same(document).exists():
        raise KnowledgeRefusedError("ALREADY_THERE")
    if _standing(document).count() >= MOST_STANDING:
        raise KnowledgeRefusedError("TOO_MANY_TEXTS")


def _same(document: KnowledgeDocument) -> QuerySet[KnowledgeDocument]:
    return _standing(document).filter(content_sha256=document.content_sha256)


def _standing(document: KnowledgeDocument) -> QuerySet[KnowledgeDocument]:
    return KnowledgeDocument.objects.filter(
        merchant_id=document.merchant_id, state__in=[DocumentState.UPLOADED, DocumentState.ACTIVE]
    )


def _fingerprint(command: dict[str, Any]) -> str:
    return canonical_sha256(command)


def _kept(note: str, now: datetime) -> dict[str, object]:
    try:
        return keep_note(check_note(note), now=now)
    except IntakeRefusedError as refused:
        raise KnowledgeRefusedError(refused.code) from refused
