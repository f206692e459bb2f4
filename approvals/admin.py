"""Decisions and cases in the admin: read-only; a case is decided in the review console."""

from django.contrib import admin

from approvals.models import ApprovalEvent, ApprovalRequest, EvidenceAttachment, ReviewCase
from ledger.admin import ReadOnlyAdmin, console_case_link


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(ReadOnlyAdmin):
    """Approvals with the exact command that each is bound to."""

    list_display = (
        "id",
        "merchant",
        "subject_kind",
        "subject_id",
        "command_number",
        "state",
        "approvals_needed",
        "rule",
        "maker_id",
        "expires_at",
    )
    list_select_related = ("merchant",)
    list_filter = ("subject_kind", "state")
    search_fields = ("=id", "=subject_id", "=request_fingerprint")


@admin.register(ApprovalEvent)
class ApprovalEventAdmin(ReadOnlyAdmin):
    """Evidence of approvals. Superusers only: while a decision is open, nobody sees how others voted."""

    merchant_path = ""
    list_display = ("id", "approval", "kind", "from_state", "to_state", "reason", "actor_id", "at")
    list_select_related = ("approval",)
    search_fields = ("=approval__id", "=approval__subject_id")


@admin.register(EvidenceAttachment)
class EvidenceAttachmentAdmin(ReadOnlyAdmin):
    """What people found at the provider; the provider's words stand in the console alone."""

    merchant_path = "approval__merchant"
    list_display = ("id", "approval", "kind", "facts", "sha256", "attached_by", "at")
    list_select_related = ("approval",)
    list_filter = ("kind",)
    search_fields = ("=approval__id", "=approval__subject_id")


@admin.register(ReviewCase)
class ReviewCaseAdmin(ReadOnlyAdmin):
    """Cases, open and closed."""

    list_display = (
        "id",
        "in_console",
        "merchant",
        "kind",
        "subject_id",
        "reason",
        "opened_at",
        "closed_at",
        "closed_because",
    )
    list_select_related = ("merchant",)
    list_filter = ("kind",)
    search_fields = ("=id", "=ticket", "=subject_id")

    @admin.display(description="case", ordering="ticket")
    def in_console(self, case: ReviewCase) -> str:
        """Link to the case's evidence."""
        return console_case_link(case.ticket)
