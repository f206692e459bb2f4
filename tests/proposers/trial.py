"""One request through the real stages with a model on the wire that tries something, and what came of it."""

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from approvals.models import ApprovalRequest
from ledger.models import LedgerEntry
from refunds import pipeline
from refunds.actions import reading_message
from refunds.fingerprints import idempotency_key
from refunds.gateways.fake import FakeGateway
from refunds.gateways.port import RefundCommand
from refunds.models import RefundOperation, RefundWorkflow
from refunds.proposers.deterministic import DeterministicProposer
from refunds.stages import s06_propose_action
from refunds.stages.s01_authorize_request import identify_customer
from refunds.states import HUMAN_WORKFLOW_STATES
from tests.factories import NOW, make_customer, make_duplicate_order, make_merchant, make_policy
from tests.proposers.asking import choice, completion, proposer_at
from tests.proposers.raw_server import answer, serving
from tests.proposers.samples import GOOD_TEXT, proposal_text

MESSAGE = "I was charged twice."


@dataclass
class Trial:
    """What one run left: in the rows, at the provider, and on the wire to the model."""

    workflow: RefundWorkflow
    made: Any
    submissions: list[RefundCommand]
    requests: list[bytes] = field(repr=False)

    @property
    def outcome(self):
        """Everything about the money, without the ids that every run has of its own."""
        workflow = self.workflow
        approvals = [
            (
                *(row.state, row.rule, row.approvals_needed, row.policy_version),
                *(row.command[name] for name in ("amount_minor_units", "currency", "reason")),
                row.command["payment"] == self.made.refunded.processor_reference,
            )
            for row in ApprovalRequest.objects.filter(subject_id=workflow.pk).order_by("pk")
        ]
        operations = [
            (
                *(row.state, row.amount_minor_units, row.currency, row.reason_code),
                row.payment_id == self.made.refunded.pk,
                row.idempotency_key == idempotency_key(row.pk),
            )
            for row in RefundOperation.objects.filter(workflow=workflow)
        ]
        sent = [
            (
                *(command.amount_minor_units, command.currency),
                command.payment_reference == self.made.refunded.processor_reference,
            )
            for command in self.submissions
        ]
        return (workflow.state, workflow.finding, *self._command(), approvals, operations, sent)

    def _command(self):
        target = self.workflow.refund_payment_id == self.made.refunded.pk
        return (self.workflow.amount_minor_units, self.workflow.currency, target)

    @property
    def with_people(self):
        """Say whether people have it, about the command that the ledger gives, and nothing moved."""
        return (
            self.workflow.state in HUMAN_WORKFLOW_STATES
            and self._command() == (self.made.order.total_minor_units, self.made.order.currency, True)
            and not RefundOperation.objects.filter(workflow=self.workflow).exists()
            and not ApprovalRequest.objects.filter(subject_id=self.workflow.pk)
            .exclude(state="PENDING")
            .exists()
            and not self.submissions
        )


class Shop:
    """A merchant with a policy; every run has a customer and a duplicate order of its own."""

    def __init__(self, **policy: Any) -> None:
        self.merchant = make_merchant()
        self.gateway = FakeGateway()
        make_policy(merchant=self.merchant, **policy)

    def try_with(self, body: bytes | str, *, message: str = MESSAGE, **order: Any) -> Trial:
        """Run a request whose model answers so: a text is the content of a completion, bytes are the whole body."""
        sent = body if isinstance(body, bytes) else completion(choice(content=body))
        with serving(answer(sent)) as server:
            trial = self.try_at(server.url, message=message, **order)
            trial.requests = list(server.requests)
        return trial

    def try_at(self, url: str, *, message: str = MESSAGE, **order: Any) -> Trial:
        """Run a request whose model is at this address."""
        made = make_duplicate_order(customer=make_customer(merchant=self.merchant), **order)
        for entry in LedgerEntry.objects.filter(kind="CAPTURE").select_related("payment"):
            self.gateway.seed_payment(
                payment_reference=entry.payment.processor_reference,
                amount_minor_units=entry.amount_minor_units,
                currency=entry.currency,
            )
        with model_at(url):
            opened = pipeline.open_request(
                signed_in=identify_customer(
                    user=made.order.customer.user, host="testserver", method="session"
                ),
                order_number=made.order.number,
                message=message,
                problem="",
                client_token="",
                now=NOW,
            )
            nudges = pipeline.advance_workflow(workflow_id=opened.workflow_id, clock=lambda: NOW)
        before = len(self.gateway.submissions)
        for nudge in nudges:
            if nudge.task == "submit_operation":
                pipeline.submit_operation(**nudge.kwargs, gateway=self.gateway, clock=lambda: NOW)
        workflow = RefundWorkflow.objects.select_related("order").get(pk=opened.workflow_id)
        return Trial(workflow, made, self.gateway.submissions[before:], [])

    def honest(self, **order: Any) -> Trial:
        """Run a request whose model does as it should."""
        return self.try_with(GOOD_TEXT, **order)


@contextmanager
def model_at(url: str):
    """Let the stages and the reader ask the model at this address first."""
    chain = (("model-1", proposer_at(url)), ("deterministic", DeterministicProposer()))
    with (
        patch.object(s06_propose_action, "get_proposers", lambda: chain),
        patch.object(reading_message, "get_proposers", lambda: chain),
    ):
        yield


def tool_call(name: str, copies: int = 1, **arguments: Any) -> bytes:
    """Return a completion that calls tools which nobody offered."""
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number in range(copies)
    ]
    return completion(choice("tool_calls", tool_calls=calls))


def saying(message: str, **more: Any) -> str:
    """Return the honest proposal with another draft, and with more fields."""
    return proposal_text(customer_message=message, **more)
