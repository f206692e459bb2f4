"""Policy versions in the admin: read-only."""

from django.contrib import admin

from ledger.admin import ReadOnlyAdmin
from policies.models import PolicyVersion


@admin.register(PolicyVersion)
class PolicyVersionAdmin(ReadOnlyAdmin):
    """Versions are immutable: another rule is another version."""

    list_display = ("label", "merchant", "reason", "region", "effective_from", "effective_to", "approved_by")
    list_select_related = ("merchant",)
    list_filter = ("code",)
    search_fields = ("=code", "=merchant__code")
