"""House texts in a wanted state, brought there by the product's own steps: uploaded by one person, decided by another."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from approvals.models import ApprovalRequest
from approvals.states import ApprovalState
from ledger.models import Merchant
from ledger.transitions import append_record, commit_transition, lock_row
from policies.models import KnowledgeDocument
from policies.states import DocumentState
from refunds.casework.house_texts import Upload, decide_text, retire_text, upload_text
from tests.factories.commands import WHY
from tests.factories.facts import NOW, make_merchant, make_staff

TITLE = "How we word a duplicate charge"
BODY = "Say that somebody paid a thing again, and never that it was their mistake."


def upload(
    *, merchant: Merchant, uploader: User | None = None, now: datetime = NOW, **typed: Any
) -> KnowledgeDocument:
    """Return a text that waits for a second person; ``typed`` are ``title``, ``body``, ``language``, ``metadata``."""
    by = uploader or make_staff(merchant=merchant)
    said = {"title": TITLE, "body": BODY, "language": "en"} | typed
    stored = upload_text(Upload(merchant_id=merchant.pk, staff_user_id=by.pk, **said), now=now)
    return KnowledgeDocument.objects.get(pk=stored.document_id)


def approval_of(document: KnowledgeDocument) -> ApprovalRequest:
    """Return what a second person decides about."""
    return ApprovalRequest.objects.get(subject_kind="POLICY", subject_id=document.pk)


def decide(
    document: KnowledgeDocument, person: User, *, approve: bool = True, now: datetime = NOW, **changes: Any
) -> KnowledgeDocument:
    """Let a person decide about a text as it is shown; return it as it is stored then."""
    said = {"fingerprint": approval_of(document).request_fingerprint, "note": "Read it."} | changes
    decide_text(document_id=document.pk, approve=approve, staff_user_id=person.pk, now=now, **said)
    return KnowledgeDocument.objects.get(pk=document.pk)


def make_house_text(
    *,
    merchant: Merchant | None = None,
    state: DocumentState = DocumentState.ACTIVE,
    now: datetime = NOW,
    **typed: Any,
) -> KnowledgeDocument:
    """Return a text in ``state``, uploaded by one member of staff and decided by another."""
    merchant = merchant or make_merchant()
    document, second = upload(merchant=merchant, now=now, **typed), make_staff(merchant=merchant)
    if state is not DocumentState.UPLOADED:
        decide(document, second, approve=state is not DocumentState.REJECTED, now=now)
    if state is DocumentState.RETIRED:
        retire_text(document_id=document.pk, staff_user_id=second.pk, note="", now=now)
    return KnowledgeDocument.objects.get(pk=document.pk)


def approved_but_still(state: DocumentState) -> KnowledgeDocument:
    """Return a text in ``state``; one that is UPLOADED has its approval given and used, and was not moved yet."""
    document = make_house_text(state=state)
    if state is DocumentState.UPLOADED:
        approval, second = approval_of(document), make_staff(merchant=document.merchant)
        with transaction.atomic():
            locked = lock_row(ApprovalRequest, approval.pk)
            append_record(locked, WHY, now=NOW, voter_id=f"user:{second.pk}")
            commit_transition(locked, ApprovalState.GRANTED, WHY, now=NOW, expires_at=NOW)
            commit_transition(locked, ApprovalState.CONSUMED, WHY, now=NOW)
    return document
