"""Policy versions and house texts in the admin: read-only; a text is decided in the review console."""

from django.contrib import admin

from ledger.admin import ReadOnlyAdmin
from policies.models import KnowledgeDocument, KnowledgeDocumentEvent, PolicyVersion


@admin.register(PolicyVersion)
class PolicyVersionAdmin(ReadOnlyAdmin):
    """Versions are immutable: another rule is another version."""

    list_display = ("label", "merchant", "reason", "region", "effective_from", "effective_to", "approved_by")
    list_select_related = ("merchant",)
    list_filter = ("code",)
    search_fields = ("=code", "=merchant__code")


@admin.register(KnowledgeDocument)
class KnowledgeDocumentAdmin(ReadOnlyAdmin):
    """House texts with what their uploader said beside them."""

    list_display = ("id", "merchant", "title", "state", "language", "uploaded_by", "created_at")
    list_select_related = ("merchant",)
    list_filter = ("state", "language")
    search_fields = ("=id", "=content_sha256")


@admin.register(KnowledgeDocumentEvent)
class KnowledgeDocumentEventAdmin(ReadOnlyAdmin):
    """Evidence of house texts."""

    merchant_path = "document__merchant"
    list_display = ("id", "document", "kind", "from_state", "to_state", "reason", "actor_id", "at")
    list_select_related = ("document",)
    search_fields = ("=document__id",)
