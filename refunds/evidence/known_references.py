"""Which of the provider's refunds are known as those of other operations: one refund pays for one operation only."""

from collections.abc import Collection

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
