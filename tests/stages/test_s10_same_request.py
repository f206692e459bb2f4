"""What must be as it was before an operation is sent once more: the request, the mode, the record, the provider's word."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from ledger.ids import new_id
from refunds.evidence.remaining import conservation_of
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.contracts.stated import decided
from refunds.gateways.fake import FakeGateway, Ordered
from refunds.gateways.port import AnswerClass
from refunds.models import GatewayAttempt, GatewayResponse, RefundOperation
from refunds.stages.s10_submit_refund import WAIT, Begun, NotBegun, begin_attempt
from refunds.stages.s11_reconcile_outcome import reconcile_outcome
from refunds.states import CheckVerdict, OperationState
from tests.factories import NOW
from tests.stages.gateways import ScriptedGateway, answered, fake_gateway_for, submit
from tests.stages.trail import both, last_move, path

pytestmark = pytest.mark.django_db
LATER = NOW + WAIT
HORIZON = timedelta(seconds=STRIPE_V1.in_flight_horizon_seconds)
OLD = replace(STRIPE_V1, review=replace(STRIPE_V1.review, reviewed_on=decided(date(2020, 1, 1), "test")))


def handed_over(operation, reason):
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert last_move(stored).reason == reason
    assert conservation_of(operation.payment_id).reserved == operation.amount_minor_units


class NextVersion(FakeGateway):
    api_version = "fake-2"


class AnotherProvider(FakeGateway):
    provider = "another"


@pytest.mark.parametrize(
    ("adapter", "reason"),
    [(NextVersion, "API_VERSION_CHANGED"), (AnotherProvider, "PROVIDER_CHANGED")],
)
def test_another_adapter_does_not_send_what_an_earlier_one_began(operation, adapter, reason):
    first, second = fake_gateway_for(operation), adapter()
    first.order(Ordered.NOT_EXECUTED)
    submit(operation, first)
    assert submit(operation, second, now=LATER) == NotBegun(reason)
    handed_over(operation, reason)
    assert (second.submissions, operation.attempts.count()) == ([], 1)


@pytest.mark.parametrize("live", [False, True])
def test_credentials_of_the_other_mode_do_not_send_it_again(operation, settings, live):
    keys = {True: "sk_live_1", False: "sk_test_1"}
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.NOT_EXECUTED)
    settings.STRIPE_API_KEY = keys[live]
    submit(operation, gateway)
    assert GatewayAttempt.objects.get().livemode is live
    settings.STRIPE_API_KEY = keys[not live]
    assert submit(operation, gateway, now=LATER) == NotBegun("MODE_CHANGED")
    handed_over(operation, "MODE_CHANGED")
    assert len(gateway.submissions) == 1


def leave_attempt(operation, **changed):
    """Leave one more attempt like the first, but for what is ``changed``."""
    first = operation.attempts.get()
    kept = {field.attname: getattr(first, field.attname) for field in first._meta.concrete_fields}
    attempt = GatewayAttempt.objects.create(**kept | changed | {"id": new_id("gwat"), "number": 2})
    GatewayResponse.objects.create(attempt=attempt, answer_class=AnswerClass.NOT_EXECUTED, received_at=NOW)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"account": "acct_2"}, "ACCOUNT_CHANGED"),
        ({"idempotency_key": "another"}, "KEY_CHANGED"),
        ({"request_body_sha256": "0" * 64}, "REQUEST_BODY_CHANGED"),
        ({"livemode": None}, None),  # from before it was kept
        ({}, None),
    ],
)
def test_every_earlier_attempt_must_have_been_the_same_request(operation, changed, reason):
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.NOT_EXECUTED)
    submit(operation, gateway)
    leave_attempt(operation, **changed)
    outcome = submit(operation, gateway, now=LATER)
    if reason is None:
        assert outcome is AnswerClass.ACCEPTED
        return
    assert outcome == NotBegun(reason)
    handed_over(operation, reason)
    assert len(gateway.submissions) == 1


# -- the provider says that trying again is of no use


def test_what_the_provider_says_not_to_send_again_is_not_sent_again(operation):
    stop = replace(answered(AnswerClass.NOT_EXECUTED, http_status=429), retry_forbidden=True)
    gateway = ScriptedGateway(stop)
    assert submit(operation, gateway) is AnswerClass.NOT_EXECUTED
    assert GatewayResponse.objects.get().retry_forbidden is True
    assert path(operation)[-1] == "CREATED"
    assert submit(operation, gateway, now=LATER) == NotBegun("PROVIDER_FORBIDS_RETRY")
    handed_over(operation, "PROVIDER_FORBIDS_RETRY")
    assert len(gateway.submissions) == 1


def test_not_even_when_it_is_proven_absent(operation):
    stop = replace(answered(AnswerClass.UNKNOWN, http_status=409), retry_forbidden=True)
    submit(operation, ScriptedGateway(stop))
    later = prove_absent(operation, contract=STRIPE_V1)
    assert submit(operation, ScriptedGateway(), now=later) == NotBegun("PROVIDER_FORBIDS_RETRY")
    handed_over(operation, "PROVIDER_FORBIDS_RETRY")


def prove_absent(operation, *, contract):
    later = NOW + HORIZON
    RefundOperation.objects.update(next_check_at=later)
    gateway = fake_gateway_for(operation)
    verdict = reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=contract, now=later)
    assert verdict is CheckVerdict.CONFIRMED_ABSENT
    return later


# -- the record of the provider was reviewed too long ago


def begin(operation, contract, *, now):
    found = RefundOperation.objects.select_related("workflow", "payment").get(pk=operation.pk)
    return begin_attempt(
        found=found, gateway=fake_gateway_for(operation), contract=contract, clock=lambda: now
    )


def test_by_a_record_that_is_too_old_nothing_is_sent_again(operation):
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.NEVER_ARRIVE)
    submit(operation, gateway)
    later = prove_absent(operation, contract=STRIPE_V1)
    assert begin(operation, OLD, now=later) == NotBegun("CONTRACT_REVIEW_ENDED")
    handed_over(operation, "CONTRACT_REVIEW_ENDED")
    assert operation.attempts.count() == 1


def test_by_a_record_that_is_too_old_refunds_still_go_out_and_are_found(operation):
    assert isinstance(begin(operation, OLD, now=NOW), Begun)
    assert path(operation)[-1] == "SUBMITTED"


def test_by_a_record_that_is_too_old_nothing_is_proven_absent(operation):
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.NEVER_ARRIVE)
    submit(operation, gateway)
    later = NOW + HORIZON
    RefundOperation.objects.update(next_check_at=later)
    verdict = reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=OLD, now=later)
    assert verdict is CheckVerdict.NOT_FOUND_YET
    assert path(operation)[-1] == OperationState.STATUS_UNKNOWN
