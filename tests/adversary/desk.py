"""One seeded case, taken through the real stages again and again: the clock stands still and each run is undone."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.contrib.auth.models import User
from django.db import connection, transaction

from approvals.models import ReviewCase
from ledger.models import LedgerEntry, Merchant, Order
from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.gateways.fake import FakeGateway
from refunds.gateways.port import Gateway, RefundCommand
from refunds.models import RefundWorkflow
from refunds.nudges import Nudge, advance
from refunds.proposers.port import Proposer
from refunds.stages.s01_authorize_request import identify_customer
from refunds.states import WorkflowState
from tests.adversary.ids import CountedIds
from tests.adversary.models import HONEST, asked_instead
from tests.adversary.money import Money, money_of
from tests.casework.staff import start
from tests.factories import NOW, latest_approval, make_merchant, make_policy, make_staff

_W = WorkflowState
PEOPLE = 4
MESSAGE = "I was charged twice."


@dataclass
class Case:
    """A merchant with staff and a policy, and one order that somebody asks about.

    ``verified``: the request whose evidence is established already, so that runs begin with the model's turn.
    """

    order: Order
    ids: CountedIds
    merchant: Merchant
    staff: list[User]
    staff_asks: dict[str, Any] = field(default_factory=dict)
    verified: str = ""
    _honest: Money | None = None

    def verify(self) -> None:
        """Do once what all runs have in common."""
        self.verified = _ask(self, MESSAGE)
        pipeline._establish_evidence(RefundWorkflow.objects.get(pk=self.verified), NOW)

    def honest(self) -> Money:
        """Return what money sees of the honest run."""
        if self._honest is None:
            self._honest = run(self, HONEST).money
        return self._honest


class Provider(Protocol):
    """Whoever makes the refunds, and what reached it."""

    gateway: Gateway

    def sent(self) -> Sequence[RefundCommand | bytes]: ...


class InMemory:
    """The gateway of the tests, which knows every charge in the ledger."""

    def __init__(self) -> None:
        self.gateway = FakeGateway()
        for entry in LedgerEntry.objects.filter(kind="CAPTURE").select_related("payment"):
            self.gateway.seed_payment(
                payment_reference=entry.payment.processor_reference,
                amount_minor_units=entry.amount_minor_units,
                currency=entry.currency,
            )

    def sent(self) -> Sequence[RefundCommand]:
        return self.gateway.submissions


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended, and what money saw of it."""

    state: str
    money: Money


def new_merchant(**policy: Any) -> tuple[Merchant, list[User]]:
    """Return a merchant with staff who may approve; ``policy`` are columns of its policy version."""
    merchant = make_merchant()
    make_policy(merchant=merchant, **policy)
    return merchant, [make_staff(merchant=merchant) for _ in range(PEOPLE)]


def run(
    case: Case,
    model: Proposer,
    *,
    message: str = MESSAGE,
    rebuild: bool = False,
    provider: Callable[[], Provider] = InMemory,
) -> Ran:
    """Let the model answer, people decide and the provider be asked; then undo all of it here.

    The customer asks first, unless the case is verified. ``rebuild``: what is handed over, people build again from
    the records, and others approve it.
    """
    with undone(case), asked_instead(model):
        refunds = provider()
        workflow_id = case.verified or _ask(case, message)
        finish(case, workflow_id, refunds.gateway, rebuild=rebuild)
        return Ran(_state(workflow_id), money_of(refunds.sent()))


@contextmanager
def undone(case: Case) -> Iterator[None]:
    """Check what PostgreSQL checks at a commit, and take back rows and ids.

    The block counts as the test case's own, so that the product's transactions inside it are as they always are.
    """
    block: Any = transaction.atomic()
    block._from_testcase = True
    with case.ids.rewound(), block:
        yield
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        transaction.set_rollback(True)


def finish(case: Case, workflow_id: str, gateway: Gateway, *, rebuild: bool = False) -> None:
    """Do what workers and people do, until nothing is left that they would."""
    _work([advance(workflow_id)], gateway)
    voters = iter(case.staff)
    if rebuild and _state(workflow_id) == _W.MANUAL_REVIEW:
        _rebuild(workflow_id, next(voters))
    while _state(workflow_id) == _W.REQUIRES_HUMAN_APPROVAL:
        _work(_approve(workflow_id, next(voters)), gateway)


def _ask(case: Case, message: str) -> str:
    if case.staff_asks:
        return str(start(**case.staff_asks, run=False).pk)
    signed_in = identify_customer(user=case.order.customer.user, host="testserver", method="session")
    opened = pipeline.open_request(
        signed_in=signed_in,
        order_number=case.order.number,
        message=message,
        problem="",
        client_token="",
        now=NOW,
    )
    return opened.workflow_id


def _work(nudges: tuple[Nudge, ...] | list[Nudge], gateway: Gateway) -> None:
    waiting = list(nudges)
    while waiting:
        nudge = waiting.pop(0)
        if nudge.task == "advance_workflow":
            waiting += pipeline.advance_workflow(**nudge.kwargs, clock=lambda: NOW)
        elif nudge.task == "submit_operation":
            waiting += pipeline.submit_operation(**nudge.kwargs, gateway=gateway, clock=lambda: NOW)


def _rebuild(workflow_id: str, maker: User) -> None:
    case = ReviewCase.objects.get(subject_id=workflow_id, closed_at__isnull=True)
    action = CaseAction(ticket=case.ticket, staff_user_id=maker.pk, reason_code="PROPOSAL_UNUSABLE")
    pipeline.claim_case(action=action, now=NOW)
    pipeline.rebuild_command(action=action, now=NOW)


def _approve(workflow_id: str, voter: User) -> tuple[Nudge, ...]:
    approval = latest_approval(RefundWorkflow.objects.get(pk=workflow_id))
    return pipeline.decide(
        approval_id=approval.pk,
        decision="approve",
        staff_user_id=voter.pk,
        fingerprint=approval.request_fingerprint,
        reason_code="DUPLICATE_CONFIRMED",
        note="",
        now=NOW,
    )


def _state(workflow_id: str) -> str:
    return RefundWorkflow.objects.values_list("state", flat=True).get(pk=workflow_id)
