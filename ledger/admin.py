"""The ledger in the admin: read-only, scoped by tenant; only superusers edit hosts and staff memberships."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ERROR_FLAG
from django.core.exceptions import PermissionDenied
from django.db import DataError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from ledger.models import (
    AuditOutbox,
    AuditPublication,
    Customer,
    Heartbeat,
    LedgerEntry,
    Merchant,
    Order,
    Payment,
    Settlement,
    SettlementFile,
    StaffMembership,
    Switch,
    Tally,
)

if TYPE_CHECKING:  # Django's own classes take no type argument at run time
    AnyModelAdmin = admin.ModelAdmin[Any]
    AnyTabularInline = admin.TabularInline[Any, Any]
    MerchantModelForm = forms.ModelForm[Merchant]
else:
    AnyModelAdmin, AnyTabularInline, MerchantModelForm = (
        admin.ModelAdmin,
        admin.TabularInline,
        forms.ModelForm,
    )


# English plurals that Django cannot build; said here, since a page's words are no part of the schema.
for _model, _plural in ((LedgerEntry, "ledger entries"), (AuditOutbox, "audit outbox rows")):
    _model._meta.verbose_name_plural = _plural  # noqa: SLF001 - Django's documented model API


def console_case_link(ticket: int | None) -> str:
    """Return a link to a case in the review console, or a dash where there is none."""
    if ticket is None:
        return "-"
    return format_html('<a href="{}">#{}</a>', reverse("console:case", args=[ticket]), ticket)


class ReadOnlyAdmin(AnyModelAdmin):
    """Shows rows and changes none: no form, no action, no edit in the list, for superusers as for anybody.

    ``merchant_path`` is the lookup from a row to its merchant. Staff see the rows of merchants that they work for;
    rows without a merchant are for superusers.
    """

    merchant_path: str = "merchant"
    actions = None
    list_per_page = 50
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the rows of the viewer's merchants; a superuser operates the desk and sees all."""
        rows = super().get_queryset(request)
        if request.user.is_superuser:
            return rows
        if not self.merchant_path or request.user.pk is None:
            return rows.none()
        mine = StaffMembership.objects.filter(user_id=request.user.pk).values("merchant_id")
        return rows.filter(**{f"{self.merchant_path}__in": mine})

    def has_add_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        """Nobody adds rows here."""
        return False

    def has_change_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        """Nobody changes rows here."""
        return False

    def has_delete_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        """Nobody deletes rows here."""
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Refuse every POST to the list; a filter that no row can be compared with leads to the list without it."""
        if request.method == "POST":
            raise PermissionDenied
        try:
            return super().changelist_view(request, extra_context)
        except (OverflowError, ValueError, DataError):  # such as a year that no calendar has
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")


class ReadOnlyInline(AnyTabularInline):
    """Rows below their parent, read-only."""

    extra = 0
    can_delete = False
    show_change_link = True

    def has_add_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        """Nobody adds rows here."""
        return False

    def has_change_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        """Nobody changes rows here."""
        return False


class MerchantForm(MerchantModelForm):
    """The host is compared with a request's in lower case."""

    class Meta:
        model = Merchant
        fields = ("host",)

    def clean_host(self) -> str:
        """Return the host as browsers send it."""
        host: str = self.cleaned_data["host"]
        return host.strip().lower()


@admin.register(Merchant)
class MerchantAdmin(ReadOnlyAdmin):
    """Merchants come from their records; the host that their pages are served from is set here."""

    merchant_path = "pk"
    form = MerchantForm
    fields = ("code", "name", "region", "gateway_account", "host")
    readonly_fields = ("code", "name", "region", "gateway_account")
    list_display = ("code", "name", "region", "gateway_account", "host")
    search_fields = ("=code", "name", "=host")

    def has_change_permission(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> bool:
        """Superusers set the host."""
        return bool(request.user.is_superuser)


@admin.register(StaffMembership)
class StaffMembershipAdmin(AnyModelAdmin):
    """Who works for which merchant, and who may decide; superusers only."""

    list_display = ("user", "merchant", "can_approve")
    list_select_related = ("user", "merchant")
    list_filter = ("can_approve",)
    search_fields = ("user__email", "=merchant__code")
    raw_id_fields = ("user", "merchant")
    actions = None

    def has_view_permission(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> bool:
        """Superusers only."""
        return bool(request.user.is_superuser)

    has_add_permission = has_view_permission
    has_change_permission = has_view_permission
    has_delete_permission = has_view_permission


@admin.register(Customer)
class CustomerAdmin(ReadOnlyAdmin):
    """Customers by the merchant's own reference; a name or an address is not kept here."""

    list_display = ("reference", "merchant", "user_id")
    list_select_related = ("merchant",)
    fields = ("merchant", "reference", "user_id")
    readonly_fields = ("user_id",)
    search_fields = ("=reference",)


@admin.register(Order)
class OrderAdmin(ReadOnlyAdmin):
    """Orders as the merchant's records have them."""

    list_display = ("number", "merchant", "customer", "status", "total_minor_units", "currency", "placed_at")
    list_select_related = ("merchant", "customer")
    search_fields = ("=number", "=customer__reference")


class LedgerEntryInline(ReadOnlyInline):
    """The ledger rows of one payment."""

    model = LedgerEntry
    fields = (
        "processor_reference",
        "kind",
        "status",
        "amount_minor_units",
        "currency",
        "occurred_at",
        "seen_count",
    )
    ordering = ("occurred_at", "pk")


@admin.register(Payment)
class PaymentAdmin(ReadOnlyAdmin):
    """Charges with their ledger rows."""

    list_display = (
        "processor_reference",
        "merchant",
        "order",
        "account",
        "method_type",
        "method_last4",
        "refreshed_at",
        "frozen_at",
    )
    list_select_related = ("merchant", "order")
    search_fields = ("=processor_reference", "=order__number")
    inlines = (LedgerEntryInline,)


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ReadOnlyAdmin):
    """Single ledger rows."""

    list_display = (
        "processor_reference",
        "merchant",
        "payment",
        "kind",
        "status",
        "amount_minor_units",
        "currency",
        "occurred_at",
    )
    list_select_related = ("merchant", "payment")
    list_filter = ("kind", "status")
    search_fields = ("=processor_reference", "=payment__processor_reference")


@admin.register(SettlementFile)
class SettlementFileAdmin(ReadOnlyAdmin):
    """Settlement reports that were imported, and how far they reach."""

    list_display = ("id", "merchant", "account", "report", "rows", "last_booked_at", "imported_at")
    list_select_related = ("merchant",)
    list_filter = ("report",)
    search_fields = ("=sha256",)


@admin.register(Settlement)
class SettlementAdmin(ReadOnlyAdmin):
    """What the reports say about money that left or came back."""

    list_display = (
        "row_reference",
        "revision",
        "merchant",
        "report",
        "category",
        "processor_reference",
        "operation_id",
        "amount_minor_units",
        "currency",
        "booked_at",
    )
    list_select_related = ("merchant",)
    list_filter = ("report", "category")
    search_fields = ("=row_reference", "=processor_reference", "=operation_id", "=payment_reference")


@admin.register(AuditOutbox)
class AuditOutboxAdmin(ReadOnlyAdmin):
    """Audit events as they were committed."""

    merchant_path = ""
    list_display = ("event_id", "topic", "subject", "at", "published_at")
    list_select_related = ("publication",)
    search_fields = ("=event_id", "=subject")

    @admin.display(description="published at")
    def published_at(self, row: AuditOutbox) -> str:
        """Return when the relay published the event."""
        publication = getattr(row, "publication", None)
        return f"{publication.published_at:%Y-%m-%d %H:%M:%S}" if publication else "-"


@admin.register(AuditPublication)
class AuditPublicationAdmin(ReadOnlyAdmin):
    """The chain of published audit events."""

    merchant_path = ""
    list_display = ("sequence", "outbox", "hash", "published_at")
    list_select_related = ("outbox",)
    search_fields = ("=sequence", "=outbox__event_id", "=outbox__subject")


@admin.register(Heartbeat)
class HeartbeatAdmin(ReadOnlyAdmin):
    """When each recurring job last ran to its end."""

    merchant_path = ""
    list_display = ("name", "beat_at", "summary")


@admin.register(Switch)
class SwitchAdmin(ReadOnlyAdmin):
    """What an operator turned, and why; ``manage.py switch`` turns them."""

    merchant_path = ""
    list_display = ("name", "is_on", "reason", "changed_by", "changed_at")


@admin.register(Tally)
class TallyAdmin(ReadOnlyAdmin):
    """Counts that every process adds to."""

    merchant_path = ""
    list_display = ("name", "total")
