"""A merchant's own texts as the console shows them: plain values, of the reader's merchants alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Case, IntegerField, QuerySet, Value, When

from approvals.models import ApprovalRequest
from approvals.states import SubjectKind
from ledger.models import ErasableText, Merchant
from policies.document_text import LANGUAGES, PARAGRAPH_BREAK
from policies.models import KnowledgeDocument, KnowledgeDocumentEvent
from policies.states import DocumentState
from refunds.selectors.review_history import text_pairs
from refunds.selectors.review_lease import names_of
from refunds.selectors.review_records import Reviewer
from refunds.selectors.review_said import GivenText

PAGE_SIZE: Final = 50
_WAITING_FIRST: Final = Case(
    When(state=DocumentState.UPLOADED, then=Value(0)),
    When(state=DocumentState.ACTIVE, then=Value(1)),
    default=Value(2),
    output_field=IntegerField(),
)


@dataclass(frozen=True, slots=True)
class HouseTextRow:
    """One text in the list."""

    document_id: str
    title: str
    state: str
    language: str
    merchant_name: str
    uploaded_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class HouseTextPage:
    """One page of the list: what waits for a decision first, then what is in use, the newest first in each."""

    rows: tuple[HouseTextRow, ...]
    total: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class HouseTextEvent:
    """What happened to a text; ``note`` is empty once erased."""

    at: datetime
    to_state: str
    reason: str
    who: str
    note: str


@dataclass(frozen=True, slots=True)
class HouseText:
    """One text with everything that a decision about it rests on."""

    document_id: str
    merchant_id: int
    merchant_name: str
    title: str
    paragraphs: tuple[str, ...]
    language: str
    metadata: tuple[tuple[str, str], ...]
    content_sha256: str
    state: str
    uploaded_by: str
    by_reviewer: bool
    created_at: datetime
    fingerprint: str
    events: tuple[HouseTextEvent, ...]

    @property
    def fingerprint_prefix(self) -> str:
        """Return enough of the fingerprint for two people to compare aloud: ``9f3a 77c1``."""
        return f"{self.fingerprint[:4]} {self.fingerprint[4:8]}"


def list_texts(*, reviewer: Reviewer, page: int) -> HouseTextPage:
    """Return one page of the texts that the reviewer may read, in three queries; beyond the last is the last."""
    texts = _texts_of(reviewer)
    total = texts.count()
    pages = max(1, -(-total // PAGE_SIZE))
    page = min(max(page, 1), pages)
    start = (page - 1) * PAGE_SIZE
    ordered = texts.select_related("merchant").order_by(_WAITING_FIRST, "-created_at", "-pk")
    found = list(ordered.defer("body", "search", "metadata")[start : start + PAGE_SIZE] if total else [])
    names = names_of(text.uploaded_by for text in found)
    rows = tuple(
        HouseTextRow(
            document_id=text.pk,
            title=text.title,
            state=str(text.state),
            language=LANGUAGES.get(text.language, text.language),
            merchant_name=text.merchant.name,
            uploaded_by=names.get(text.uploaded_by, text.uploaded_by),
            created_at=text.created_at,
        )
        for text in found
    )
    return HouseTextPage(rows=rows, total=total, page=page, pages=pages)


def get_text(*, reviewer: Reviewer, document_id: str) -> HouseText | None:
    """Return one text in five queries; None alike for a missing one and one of another merchant."""
    text = _texts_of(reviewer).select_related("merchant").defer("search").filter(pk=document_id).first()
    if text is None:
        return None
    asked = ApprovalRequest.objects.filter(subject_kind=SubjectKind.POLICY, subject_id=text.pk).first()
    events = list(KnowledgeDocumentEvent.objects.filter(document=text).order_by("pk"))
    names = names_of([text.uploaded_by, *(event.actor_id for event in events)])
    return HouseText(
        document_id=text.pk,
        merchant_id=text.merchant_id,
        merchant_name=text.merchant.name,
        title=text.title,
        paragraphs=tuple(text.body.split(PARAGRAPH_BREAK)),
        language=LANGUAGES.get(text.language, text.language),
        metadata=text_pairs(text.metadata),
        content_sha256=text.content_sha256,
        state=str(text.state),
        uploaded_by=names.get(text.uploaded_by, text.uploaded_by),
        by_reviewer=text.uploaded_by == f"user:{reviewer.user_id}",
        created_at=text.created_at,
        fingerprint=asked.request_fingerprint if asked else "",
        events=_history(events, names),
    )


def may_upload_for(reviewer: Reviewer) -> tuple[tuple[int, str], ...]:
    """Return the merchants for which the reviewer may upload, as pairs of id and name."""
    found = Merchant.objects.filter(pk__in=reviewer.approves_for).order_by("name", "pk")
    return tuple(found.values_list("pk", "name"))


def given_texts(documents: Iterable[Mapping[str, Any]]) -> tuple[GivenText, ...]:
    """Return which passages evidence names; one query, and none where it names none."""
    named = list(documents)
    if not named:
        return ()
    wanted = {str(each["document"]) for each in named}
    titles = dict(KnowledgeDocument.objects.filter(pk__in=wanted).values_list("pk", "title"))
    return tuple(
        GivenText(
            document_id=str(each["document"]),
            title=titles.get(str(each["document"]), ""),
            paragraph=int(each["paragraph"]),
            content_sha256=str(each["content_sha256"]),
        )
        for each in named
    )


def _texts_of(reviewer: Reviewer) -> QuerySet[KnowledgeDocument]:
    return KnowledgeDocument.objects.filter(merchant_id__in=reviewer.merchant_ids)


def _history(
    events: Iterable[KnowledgeDocumentEvent], names: Mapping[str, str]
) -> tuple[HouseTextEvent, ...]:
    events = tuple(events)
    noted = [event.evidence["note_text"] for event in events if "note_text" in event.evidence]
    notes = dict(ErasableText.objects.filter(pk__in=noted).values_list("pk", "body")) if noted else {}
    return tuple(
        HouseTextEvent(
            at=event.at,
            to_state=event.to_state,
            reason=event.reason,
            who=names.get(event.actor_id, event.actor_id),
            note=notes.get(event.evidence.get("note_text"), ""),
        )
        for event in events
    )
