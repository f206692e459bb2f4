"""Requests, operations and everything about them in the admin: read-only; no page here moves a state."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest

from approvals.models import ReviewCase
from ledger.admin import ReadOnlyAdmin, console_case_link
from refunds.models import (
    BookComparison,
    BookDifference,
    CustomerMessage,
    GatewayAttempt,
    GatewayResponse,
    GatewayWebhook,
    MessageReading,
    ModelQualification,
    Proposal,
    ReconciliationCheck,
    RefundOperation,
    RefundOperationEvent,
    RefundWorkflow,
    RefundWorkflowEvent,
    RuleResult,
)

admin.site.index_title = "Records"
admin.site.site_url = "/support/"


class _WithCaseLink(ReadOnlyAdmin):
    """Adds the newest ticket about a row's workflow, as a link to the console."""

    workflow_path = "workflow_id"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows with their newest ticket, found in the same query."""
        newest = ReviewCase.objects.filter(subject_id=OuterRef(self.workflow_path)).order_by(
            "-opened_at", "-ticket"
        )
        ticket = Subquery(newest.values("ticket")[:1])
        rows: QuerySet[Any] = super().get_queryset(request).annotate(newest_ticket=ticket)
        return rows

    @admin.display(description="case", ordering="newest_ticket")
    def in_console(self, row: Any) -> str:
        """Link to the newest case about this row."""
        return console_case_link(row.newest_ticket)


@admin.register(RefundWorkflow)
class RefundWorkflowAdmin(_WithCaseLink):
    """Requests."""

    workflow_path = "pk"
    list_display = (
        "reference",
        "id",
        "in_console",
        "merchant",
        "order",
        "state",
        "finding",
        "amount_minor_units",
        "currency",
        "created_at",
    )
    list_select_related = ("merchant", "order")
    list_filter = ("state", "finding")
    search_fields = ("=id", "=reference", "=order__number")


@admin.register(RefundOperation)
class RefundOperationAdmin(_WithCaseLink):
    """Financial instructions."""

    list_display = (
        "id",
        "in_console",
        "merchant",
        "workflow",
        "payment_reference",
        "state",
        "amount_minor_units",
        "currency",
        "processor_reference",
        "created_at",
    )
    list_select_related = ("merchant", "workflow")
    list_filter = ("state",)
    search_fields = ("=id", "=workflow__id", "=processor_reference", "=payment_reference", "=idempotency_key")


_EVENT_COLUMNS = (
    "kind",
    "state_sequence",
    "from_state",
    "to_state",
    "stage",
    "actor_type",
    "actor_id",
    "reason",
    "at",
)


@admin.register(RefundWorkflowEvent)
class RefundWorkflowEventAdmin(ReadOnlyAdmin):
    """Events of requests."""

    merchant_path = "workflow__merchant"
    list_display = ("id", "workflow", *_EVENT_COLUMNS)
    list_filter = ("kind", "to_state")
    list_select_related = ("workflow",)
    search_fields = ("=workflow__id", "=workflow__reference")


@admin.register(RefundOperationEvent)
class RefundOperationEventAdmin(ReadOnlyAdmin):
    """Events of operations."""

    merchant_path = "operation__merchant"
    list_display = ("id", "operation", *_EVENT_COLUMNS)
    list_filter = ("kind", "to_state")
    list_select_related = ("operation",)
    search_fields = ("=operation__id",)


@admin.register(GatewayAttempt)
class GatewayAttemptAdmin(ReadOnlyAdmin):
    """Calls to the provider."""

    merchant_path = "operation__merchant"
    list_display = ("id", "operation", "number", "provider", "account", "idempotency_key", "started_at")
    list_select_related = ("operation",)
    search_fields = ("=id", "=operation__id", "=idempotency_key")


@admin.register(GatewayResponse)
class GatewayResponseAdmin(ReadOnlyAdmin):
    """What each call taught."""

    merchant_path = "attempt__operation__merchant"
    list_display = (
        "attempt",
        "answer_class",
        "http_status",
        "error_code",
        "processor_reference",
        "provider_status",
        "replayed",
        "received_at",
    )
    list_select_related = ("attempt",)
    list_filter = ("answer_class",)
    search_fields = ("=attempt__id", "=attempt__operation__id", "=processor_reference")


@admin.register(GatewayWebhook)
class GatewayWebhookAdmin(ReadOnlyAdmin):
    """Events of the provider, without their bodies. Superusers only: an event names no merchant of ours."""

    merchant_path = ""
    exclude = ("body",)
    list_display = (
        "id",
        "provider",
        "event_type",
        "object_id",
        "livemode",
        "outcome",
        "detail",
        "received_at",
    )
    list_filter = ("outcome", "event_type")
    search_fields = ("=event_id", "=object_id", "=payment_reference", "=operation_id")


@admin.register(ReconciliationCheck)
class ReconciliationCheckAdmin(ReadOnlyAdmin):
    """Looks at what really happened."""

    merchant_path = "operation__merchant"
    list_display = ("id", "operation", "number", "verdict", "processor_reference", "at")
    list_select_related = ("operation",)
    list_filter = ("verdict",)
    search_fields = ("=operation__id", "=processor_reference")


@admin.register(BookComparison)
class BookComparisonAdmin(ReadOnlyAdmin):
    """Comparisons of three books, as they were finished."""

    list_display = (
        "id",
        "merchant",
        "books_of",
        "cause",
        "counts",
        "payments",
        "asked",
        "settled_until",
        "finished_at",
    )
    list_select_related = ("merchant",)
    list_filter = ("cause",)


@admin.register(BookDifference)
class BookDifferenceAdmin(ReadOnlyAdmin):
    """What differed between the books, with what each of them says."""

    merchant_path = "comparison__merchant"
    list_display = ("id", "kind", "payment_reference", "operation_id", "processor_reference", "at")
    list_filter = ("kind",)
    search_fields = ("=payment_reference", "=operation_id", "=processor_reference", "=subject_id")


@admin.register(Proposal)
class ProposalAdmin(ReadOnlyAdmin):
    """Proposals; the words are shown in the case alone, marked as not evidence."""

    merchant_path = "workflow__merchant"
    exclude = ("draft",)
    list_display = (
        "id",
        "workflow",
        "command_number",
        "proposer",
        "model_snapshot",
        "recommended_action",
        "output_class",
        "at",
    )
    list_select_related = ("workflow",)
    list_filter = ("output_class", "proposer")
    search_fields = ("=workflow__id", "=workflow__reference")


@admin.register(ModelQualification)
class ModelQualificationAdmin(ReadOnlyAdmin):
    """Evaluations of models; the newest one of a configuration says whether it may be asked."""

    merchant_path = ""
    list_display = (
        "id",
        "model",
        "endpoint_host",
        "snapshot",
        "prompt_version",
        "set_version",
        "attempts",
        "passed",
        "at",
        "expires_at",
    )
    list_filter = ("passed", "model")


@admin.register(RuleResult)
class RuleResultAdmin(ReadOnlyAdmin):
    """Results of the seven checks."""

    merchant_path = "workflow__merchant"
    list_display = ("id", "workflow", "command_number", "rule", "result", "outcome", "policy_version", "at")
    list_select_related = ("workflow",)
    list_filter = ("rule", "result")
    search_fields = ("=workflow__id", "=workflow__reference")


@admin.register(CustomerMessage)
class CustomerMessageAdmin(ReadOnlyAdmin):
    """Messages by digest; the words are shown in the case alone, marked as not evidence."""

    merchant_path = "workflow__merchant"
    exclude = ("text",)
    list_display = ("id", "workflow", "text_sha256", "at")
    list_select_related = ("workflow",)
    search_fields = ("=workflow__id", "=workflow__reference")


@admin.register(MessageReading)
class MessageReadingAdmin(ReadOnlyAdmin):
    """What models made of messages: suggestions for one page, and no evidence."""

    merchant_path = "workflow__merchant"
    list_display = ("id", "workflow", "reader", "model_snapshot", "output_class", "intent", "problem", "at")
    list_select_related = ("workflow",)
    list_filter = ("output_class", "reader", "intent")
    search_fields = ("=workflow__id", "=workflow__reference")
