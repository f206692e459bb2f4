"""Gateways for the stages: one that answers what it is told, and the fake one with an operation's payment in its book."""

from refunds.gateways.fake import FakeGateway
from refunds.gateways.port import GatewayAnswer, LookupAnswer, ProviderStatus, RefundFact
from refunds.stages.s10_submit_refund import submit_refund
from tests.factories import NOW


def booked(operation, status=ProviderStatus.SUCCEEDED, **changed):
    """Return the provider's refund object of an operation."""
    facts = {
        "processor_reference": "re_1",
        "operation_id": operation.pk,
        "amount_minor_units": operation.amount_minor_units,
        "currency": operation.currency,
        "provider_status": status.lower(),
        "status": status,
        "payment_reference": operation.payment_reference,
        "created_at": None,
        "failure_reason": None,
    } | changed
    return RefundFact(**facts)


def answered(answer_class, *, refund=None, http_status=None, code=None):
    return GatewayAnswer(
        answer_class=answer_class,
        refund=refund,
        http_status=http_status,
        error_type=None,
        error_code=code,
        replayed=False,
        request_id="req_1",
        body_sha256="b" * 64,
        detail="scripted",
    )


def listed(*refunds, complete=True):
    return LookupAnswer(
        surface="refunds.list",
        complete=complete,
        refunds=refunds,
        http_status=200 if complete else 503,
        error_code=None,
        detail="",
        attempts=1 if complete else 3,
    )


class ScriptedGateway:
    """Answers in order; keeps the commands and the look-ups. What it was not told to answer is an error."""

    provider = "scripted"
    api_version = "scripted-1"

    def __init__(self, *answers, lookups=()):
        self.answers, self.lookups = list(answers), list(lookups)
        self.submissions, self.looked_up = [], []

    def submit_refund(self, command):
        self.submissions.append(command)
        return self.answers.pop(0)

    def list_refunds(self, *, payment_reference, **_account):
        self.looked_up.append(payment_reference)
        return self.lookups.pop(0)

    def retrieve_refund(self, *, processor_reference, **_account):
        self.looked_up.append(processor_reference)
        return self.lookups.pop(0)

    def request_body_sha256(self, command):
        return FakeGateway().request_body_sha256(command)


def fake_gateway_for(operation):
    gateway = FakeGateway()
    gateway.seed_payment(
        payment_reference=operation.payment_reference,
        amount_minor_units=operation.amount_minor_units,
        currency=operation.currency,
    )
    return gateway


def submit(operation, gateway, *, now=NOW):
    """Run stage 10 once, with a clock that stands still."""
    return submit_refund(operation_id=operation.pk, gateway=gateway, clock=lambda: now)
