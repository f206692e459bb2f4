"""Drives the product as its workers do, without a broker: nudges run at once, scanners when asked."""

from datetime import timedelta

from ledger.models import AuditOutbox, LedgerEntry
from notifications.models import Notification
from refunds import pipeline, recovery
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.stripe import StripeGateway
from refunds.models import RefundOperation, RefundOperationEvent, RefundWorkflow, RefundWorkflowEvent
from refunds.stages.s01_authorize_request import identify_customer
from tests.factories import NOW, make_customer, make_duplicate_order, make_merchant, make_policy


class Desk:
    def __init__(self, simulator):
        self.sim = simulator
        self.now = NOW
        self.gateway = StripeGateway(
            api_key=simulator.api_key,
            api_base=simulator.url,
            connect_timeout_seconds=2,
            answer_timeout_seconds=1,
        )

    def clock(self):
        return self.now

    def later(self, **delta):
        self.now += timedelta(**delta)

    # -- facts
    def shop(self, rules=None, **columns):
        merchant = make_merchant(**columns)
        make_policy(merchant=merchant, rules=rules)
        return merchant

    def customer(self, merchant=None, **columns):
        return make_customer(merchant=merchant or self.shop(), **columns)

    def duplicate(self, customer, **columns):
        """An order that was charged twice, here and in the provider's book."""
        made = make_duplicate_order(customer=customer, now=self.now, **columns)
        for payment in (made.kept, made.refunded):
            self.seed(payment)
        return made

    def seed(self, payment):
        entry = payment.entries.get()
        self.sim.seed_charge(
            payment.processor_reference,
            amount=entry.amount_minor_units,
            currency=entry.currency.lower(),
            captured=entry.kind == "CAPTURE",
            **({"account": payment.account} if payment.account else {}),
        )

    # -- what people and workers do
    def ask(self, order, *, message="I was charged twice.", token="", run=True):
        signed_in = identify_customer(user=order.customer.user, host="testserver", method="session")
        opened = pipeline.open_request(
            signed_in=signed_in,
            order_number=order.number,
            message=message,
            problem="",
            client_token=token,
            now=self.now,
        )
        if run:
            self.run(opened.nudges)
        return opened.workflow_id

    def run(self, nudges):
        """Do what nudges ask for, and what they lead to, until nothing is left."""
        waiting = list(nudges)
        while waiting:
            waiting.extend(self.run_one(waiting.pop(0)))

    def run_one(self, nudge):
        if nudge.task == "advance_workflow":
            return pipeline.advance_workflow(**nudge.kwargs, clock=self.clock)
        if nudge.task == "submit_operation":
            return pipeline.submit_operation(**nudge.kwargs, gateway=self.gateway, clock=self.clock)
        if nudge.task == "reconcile_operation":
            return pipeline.reconcile_operation(
                **nudge.kwargs, gateway=self.gateway, contract=STRIPE_V1, now=self.now
            )
        assert nudge.task == "deliver_notifications"
        return ()

    def scan(self):
        """One round of every recovery scanner."""
        self.run(recovery.find_resumable_work(now=self.now))
        self.run(recovery.find_overdue_submissions(now=self.now))
        self.run(recovery.find_unknown_outcomes(now=self.now))

    # -- what the rows say
    def workflow(self, pk):
        return RefundWorkflow.objects.get(pk=pk)

    def operation(self, workflow_id):
        return RefundOperation.objects.get(workflow_id=workflow_id)

    def story(self, workflow_id):
        """The states that the workflow and its operations went through, folded from their events."""
        workflow = RefundWorkflowEvent.objects.filter(workflow_id=workflow_id).order_by("state_sequence")
        operation = RefundOperationEvent.objects.filter(operation__workflow_id=workflow_id).order_by("pk")
        return [e.to_state for e in workflow], [e.to_state for e in operation]

    def posts(self):
        return [entry for entry in self.sim.log(method="POST") if entry["path"].startswith("/v1/refunds")]

    def messages(self):
        return list(Notification.objects.order_by("pk").values_list("logical_event_id", flat=True))

    def assert_books_agree(self):
        """The provider's book and ours tell of the same refunds, and every event reached the outbox."""
        booked = {(r["id"], r["amount"], r["currency"].upper()) for r in self.sim.refunds()}
        ours = {
            (o.processor_reference, o.amount_minor_units, o.currency)
            for o in RefundOperation.objects.filter(state="COMPLETED")
        }
        entries = {
            (e.processor_reference, e.amount_minor_units, e.currency)
            for e in LedgerEntry.objects.filter(kind="REFUND")
        }
        assert booked == ours == entries
        events = RefundWorkflowEvent.objects.count() + RefundOperationEvent.objects.count()
        subjects = AuditOutbox.objects.filter(topic__startswith="refund_").exclude(topic__contains="refused")
        assert subjects.count() == events
