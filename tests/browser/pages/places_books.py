"""The pages about the books: a frozen payment, a difference between books, and the board of both."""

from datetime import UTC, datetime, timedelta

from django.utils import timezone

from approvals.models import ReviewCase
from refunds.evidence.frozen import report_frozen
from refunds.evidence.three_books.comparing import ComparisonOrder, compare_books
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.port import ProviderStatus, RefundFact
from refunds.states import CheckCause
from tests.browser.pages.place import Place
from tests.factories import make_entry, make_user
from tests.stages.gateways import listed


class _Dashboard:
    """A provider with one refund of each payment that nobody here knows of."""

    def list_refunds(self, *, payment_reference, **_account):
        return listed(
            RefundFact(
                processor_reference="re_dashboard",
                operation_id=None,
                amount_minor_units=1250,
                currency="USD",
                provider_status="succeeded",
                status=ProviderStatus.SUCCEEDED,
                payment_reference=payment_reference,
                created_at=None,
                failure_reason=None,
            )
        )


def _frozen(shop):
    order = shop.double_charge(shop.customer())
    payment = order.payments.first()
    make_entry(payment=payment, kind="DISPUTE", status="OPEN", amount_minor_units=999_999)
    report_frozen(now=timezone.now())
    return f"/admin/review/{ReviewCase.objects.get(reason='PAYMENT_FROZEN', merchant=shop.merchant).ticket}/"


def _differing(shop):
    order = shop.double_charge(shop.customer())
    payment = order.payments.first()
    yesterday = datetime.now(UTC) - timedelta(days=1)
    make_entry(payment=payment, kind="REFUND", amount_minor_units=1, occurred_at=yesterday)
    compare_books(
        ComparisonOrder(
            merchant=order.merchant,
            books_of=yesterday.date(),
            gateway=_Dashboard(),
            contract=STRIPE_V1,
            cause=CheckCause.PERSON,
        ),
        clock=timezone.now,
    )
    return f"/admin/review/{ReviewCase.objects.get(reason='MISSING_OURS', merchant=shop.merchant).ticket}/"


def frozen_payment(shop):
    return Place(_frozen(shop), shop.reviewer(), shows="nothing of this payment is refunded")


def release_refused(shop):
    def choose(page):
        page.get_by_label("The dispute ended in the merchant's favour").check()

    return Place(
        f"{_frozen(shop)}books/",
        shop.reviewer(),
        first=choose,
        send="Release the payment",
        shows="The facts still say that more is gone than was captured.",
    )


def difference(shop):
    return Place(_differing(shop), shop.reviewer(), shows="What each book says")


def explain(shop):
    return Place(f"{_differing(shop)}books/", shop.reviewer(), shows="Close as explained?")


def explain_with_errors(shop):
    return Place(
        f"{_differing(shop)}books/", shop.reviewer(), send="Close as explained", shows="Choose a reason."
    )


def queue_with_both(shop):
    _frozen(shop)
    _differing(shop)
    return Place("/admin/review/", shop.reviewer(), shows="More of this payment is gone than was captured.")


def scoreboard_with_books(shop):
    _frozen(shop)
    _differing(shop)
    operator = make_user(is_staff=True, is_superuser=True)
    return Place("/admin/review/scoreboard/", operator, shows="MISSING_OURS")
