"""Which of the provider's refunds are known as those of other operations: one refund pays for one operation only."""

from collections.abc import Collection

from django.db.models import Q

from refunds.models import RefundOperation


def known_of_others(operation: RefundOperation, references: Collection[str]) -> frozenset[str]:
    """Return those of the references by which other operations of the merchant's account are known."""
    if not references:
        return frozenset()
    others = RefundOperation.objects.filter(
        merchant_id=operation.merchant_id, account=operation.account, processor_reference__in=references
    ).exclude(pk=operation.pk)
    return frozenset(
        reference for reference in others.values_list("processor_reference", flat=True) if reference
    )


def operations_beside(operation: RefundOperation, reference: str) -> tuple[RefundOperation, ...]:
    """Return the other operations of its request, and whichever is known by the reference; one read for both."""
    same_account = Q(merchant_id=operation.merchant_id, account=operation.account)
    found = RefundOperation.objects.filter(
        Q(workflow_id=operation.workflow_id) | (same_account & Q(processor_reference=reference))
    )
    return tuple(found.exclude(pk=operation.pk))
