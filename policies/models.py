"""Policy versions, which decide, and house texts, which never do: both are immutable once stored."""

from typing import Final

import pgtrigger
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual
from django_fsm import FSMField, transition

from ledger.canonical import canonical_sha256
from ledger.ids import ID_LENGTH
from ledger.models import AppendOnlyModel, EventModel, Merchant, StatefulModel
from ledger.state_triggers import event_triggers, state_triggers
from policies.document_text import LANGUAGES, MAX_BODY, MAX_TITLE
from policies.states import DOCUMENT_TABLE, DocumentState

_S = DocumentState
_T = DOCUMENT_TABLE
SEARCH_CONFIG: Final = "english"  # the words of the desk's codes are English; see ``policies.knowledge``


class PolicyVersion(AppendOnlyModel):
    """One version of one merchant's rules for one reason, in force from ``effective_from`` until ``effective_to``.

    Empty attributes match everything; the most specific version never wins over another: two that apply at one
    date are an error for people (``policies.selection``).
    """

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    code = models.CharField(max_length=40)
    version = models.PositiveIntegerField()
    reason = models.CharField(max_length=40)
    region = models.CharField(max_length=8, blank=True)
    product_type = models.CharField(max_length=40, blank=True)
    payment_method = models.CharField(max_length=40, blank=True)
    effective_from = models.DateTimeField()
    effective_to = models.DateTimeField(null=True, blank=True, help_text="Exclusive; empty means open-ended.")
    rules = models.JSONField()
    guidance = models.TextField(
        blank=True,
        max_length=1000,
        help_text="The rules in prose, for their wording only: it decides nothing.",
    )
    source_reference = models.CharField(max_length=200)
    approved_by = models.CharField(max_length=80)
    approved_at = models.DateTimeField()

    class Meta(AppendOnlyModel.Meta):
        db_table = "policy_versions"
        constraints = [
            models.UniqueConstraint(fields=["merchant", "code", "version"], name="policy_version_once"),
            models.CheckConstraint(
                condition=Q(effective_to__isnull=True) | Q(effective_to__gt=F("effective_from")),
                name="policy_period_forward",
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """Return the name that decisions record, such as ``REF-DUP v7``."""
        return f"{self.code} v{self.version}"


class KnowledgeDocumentEvent(EventModel):
    """Evidence of one house text: who uploaded, approved, rejected or retired it, and why."""

    subject_field = "document"

    document = models.ForeignKey(
        "KnowledgeDocument", on_delete=models.PROTECT, related_name="events", db_index=False
    )

    class Meta(EventModel.Meta):
        db_table = "knowledge_document_events"
        constraints = [
            *EventModel.Meta.constraints,
            models.UniqueConstraint(fields=["document", "state_sequence"], name="knowledge_event_once"),
        ]
        triggers = [
            *EventModel.Meta.triggers,
            *event_triggers(
                state_table="knowledge_documents",
                subject_column="document_id",
                event_table="knowledge_document_events",
            ),
        ]


class KnowledgeDocument(StatefulModel):
    """A merchant's own text about how to word and what to look at: data for a model and for staff, never a rule.

    Nothing of it ever changes. Only an ACTIVE one is given to a model, and only another person than its uploader
    makes it that, for exactly this content. ``metadata`` is what the uploader said beside it; no code reads it.
    """

    event_model = KnowledgeDocumentEvent
    topic = "knowledge_document"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    title = models.CharField(max_length=MAX_TITLE)
    body = models.TextField()
    language = models.CharField(max_length=2, choices=list(LANGUAGES.items()))
    metadata = models.JSONField(default=dict, blank=True)
    content_sha256 = models.CharField(max_length=64)
    uploaded_by = models.CharField(max_length=80)
    state = FSMField(default=_S.UPLOADED, protected=True, max_length=12)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    search = models.GeneratedField(
        expression=SearchVector("title", "body", config=SEARCH_CONFIG),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        db_table = "knowledge_documents"
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "content_sha256"],
                condition=Q(state__in=[_S.UPLOADED, _S.ACTIVE]),
                name="knowledge_text_once",
            ),
            models.CheckConstraint(
                condition=Q(LessThanOrEqual(Length("body"), MAX_BODY)) & ~Q(body="") & ~Q(uploaded_by=""),
                name="knowledge_text_bounded",
            ),
        ]
        indexes = [
            GinIndex(fields=["search"], condition=Q(state=_S.ACTIVE), name="knowledge_search"),
            models.Index(fields=["merchant", "state", "-created_at"], name="knowledge_of_merchant"),
        ]
        triggers = [
            *state_triggers(_T, event_table="knowledge_document_events", subject_column="document_id"),
            pgtrigger.ReadOnly(
                name="text_is_fixed",
                fields=[
                    "merchant",
                    "title",
                    "body",
                    "language",
                    "metadata",
                    "content_sha256",
                    "uploaded_by",
                    "created_at",
                ],
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def digest(self) -> str:
        """Return SHA-256 over everything that people approve of it, as it stands in the row."""
        return canonical_sha256(
            {
                "title": self.title,
                "body": self.body,
                "language": self.language,
                "metadata": self.metadata,
            }
        )

    @transition(field=state, source=_T.sources_of(_S.ACTIVE), target=_S.ACTIVE)
    def activate(self) -> None:
        """Another person approved exactly this content."""

    @transition(field=state, source=_T.sources_of(_S.REJECTED), target=_S.REJECTED)
    def reject(self) -> None:
        """Another person refused it."""

    @transition(field=state, source=_T.sources_of(_S.RETIRED), target=_S.RETIRED)
    def retire(self) -> None:
        """Whoever may work for the merchant took it out of use."""
