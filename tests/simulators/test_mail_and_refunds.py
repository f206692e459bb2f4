"""Trouble with mail and what it does to a refund: nothing. The product's own channel, over SMTP."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from notifications.channels.email import EmailChannel, backend_for
from notifications.delivery import deliver
from notifications.models import Notification
from notifications.services import claim_due_notifications
from tests.journeys.desk import Desk
from tests.support.gateway_simulator import GatewaySimulator
from tests.support.mail_simulator import MailSimulator

pytestmark = pytest.mark.django_db(transaction=True)
MOST_ATTEMPTS = 8


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailSimulator]:
    with MailSimulator(outbox=tmp_path_factory.mktemp("mail") / "outbox") as simulator:
        yield simulator


@pytest.fixture
def mail(running: MailSimulator) -> MailSimulator:
    running.reset()
    return running


@pytest.fixture
def refunded(gateway_simulator: GatewaySimulator) -> tuple[Desk, str]:
    """A refund that the provider confirmed, with a receipt that is owed."""
    desk = Desk(gateway_simulator)
    workflow_id = desk.ask(desk.duplicate(desk.customer(user__email="ada@example.com")).order)
    return desk, workflow_id


def post(desk: Desk, mail: MailSimulator) -> None:
    """Do what the mail worker does now: every message that is due, once."""
    channel = EmailChannel(
        connect=lambda: backend_for(f"{mail.url}?timeout=0.5"), sender="refunds@example.com"
    )
    for pk in claim_due_notifications(now=desk.now, limit=100):
        deliver(notification_id=pk, now=desk.now, channel=channel)


def assert_the_refund_stands(desk: Desk, workflow_id: str) -> None:
    operation = desk.operation(workflow_id)
    assert (desk.workflow(workflow_id).state, operation.state) == ("COMPLETED", "COMPLETED")
    assert operation.processor_reference == desk.sim.refunds()[0]["id"]
    assert len(desk.posts()) == 1


@pytest.mark.failure("F121")
@pytest.mark.parametrize("trouble", ["refused", "hang", "temporary", "drop"])
def test_trouble_with_the_server_delays_the_receipt_and_nothing_else(
    refunded: tuple[Desk, str], mail: MailSimulator, trouble: str
) -> None:
    desk, workflow_id = refunded
    if trouble == "refused":
        mail.refuse_connections()
    else:
        mail.arm(trouble, on="mail", count=None)
    post(desk, mail)
    assert mail.messages() == []
    owed = Notification.objects.get()
    assert (owed.delivered_at, owed.failed_at) == (None, None)
    assert_the_refund_stands(desk, workflow_id)

    mail.disarm()
    for _ in range(3):
        desk.later(days=1)
        post(desk, mail)
    (receipt,) = mail.messages()
    assert receipt["recipients"] == ["ada@example.com"]
    assert desk.operation(workflow_id).processor_reference in receipt["body"]
    assert_the_refund_stands(desk, workflow_id)


@pytest.mark.failure("F125")
@pytest.mark.failure("F121")
def test_a_refused_address_is_a_permanent_failure_of_the_message_only(
    refunded: tuple[Desk, str], mail: MailSimulator
) -> None:
    desk, workflow_id = refunded
    mail.arm("rejected", recipient="ada@example.com", count=None)
    for _ in range(3):
        post(desk, mail)
        desk.later(days=1)
    owed = Notification.objects.get()
    assert owed.delivered_at is None
    assert owed.failed_at is not None
    assert [(one.outcome, one.detail) for one in owed.attempts.all()] == [("PERMANENT", "SMTP_550")]
    assert mail.connections() == 1
    assert_the_refund_stands(desk, workflow_id)


@pytest.mark.failure("F126")
def test_transient_errors_are_tried_a_bounded_number_of_times(
    refunded: tuple[Desk, str], mail: MailSimulator
) -> None:
    desk, workflow_id = refunded
    mail.arm("temporary", count=None)
    for _ in range(MOST_ATTEMPTS + 4):
        post(desk, mail)
        desk.now += timedelta(days=1)
    owed = Notification.objects.get()
    assert owed.failed_at is not None
    assert owed.attempts.count() == mail.connections() == MOST_ATTEMPTS
    assert_the_refund_stands(desk, workflow_id)


@pytest.mark.failure("F122")
def test_a_receipt_whose_acceptance_was_lost_comes_twice_under_one_id(
    refunded: tuple[Desk, str], mail: MailSimulator
) -> None:
    desk, _workflow_id = refunded
    mail.arm("drop_after_data")
    for _ in range(3):
        post(desk, mail)
        desk.later(days=1)
    first, second = mail.messages()
    assert first["message_id"] == second["message_id"] != ""
    assert Notification.objects.get().delivered_at is not None
