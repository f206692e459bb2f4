"""What people do in a run: each repeats an action that was not answered, as people do."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from approvals.models import ApprovalRequest
from approvals.services import DecisionRefusedError
from ledger.actors import Actor
from ledger.switches import GATEWAY_WRITES, turn
from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.casework.provider_evidence import ProviderStatement
from refunds.casework.refusals import CaseWorkRefusedError, StaffStartRefusedError
from refunds.casework.staff_request import StaffRefundRequest
from refunds.refusals import PersonRefusedError, WithdrawRefusedError
from refunds.stages.s01_authorize_request import identify_customer
from refunds.tasks import send_nudges
from tests.torture.run import Run
from tests.torture.shop import Shop, learn_dispute

_PATIENCE = 3
_REFUSALS = (
    CaseWorkRefusedError,
    DecisionRefusedError,
    PersonRefusedError,
    StaffStartRefusedError,
    WithdrawRefusedError,
)


class People:
    """The customer, the staff and the operator of one run's shop."""

    def __init__(self, run: Run, shop: Shop) -> None:
        self.run, self.shop = run, shop
        self._planned: list[tuple[str, Callable[[], Any]]] | None = None
        run.people = self

    def acts_of(self, what: str, /, **more: Any) -> list[tuple[str, Callable[[], Any]]]:
        """Return what people would do, undone: for a worker that runs at the same moment."""
        self._planned = []
        try:
            getattr(self, what)(**more)
            return self._planned
        finally:
            self._planned = None

    def _do(self, label: str, act: Any) -> Any:
        """Do something until it is answered: with a result, or with a refusal, which is None and a trace line."""
        if self._planned is not None:
            self._planned.append((label, lambda: self._once(act)))
            return None
        for _ in range(_PATIENCE):
            ended = len(self.run.ended)
            result = self.run.step(label, lambda: self._once(act))
            if len(self.run.ended) == ended:
                return result
            self.run.clock.advance(timedelta(seconds=20))
        return None

    def _once(self, act: Any) -> Any:
        try:
            answered = act()
        except _REFUSALS as refused:
            self.run.trace.append(f"refused {type(refused).__name__} {getattr(refused, 'code', '')}")
            return None
        nudges = getattr(answered, "nudges", answered)
        send_nudges(nudges if isinstance(nudges, tuple) else ())
        return answered

    # -- the customer
    def ask(self) -> None:
        """Ask for the refund of an order that was charged twice."""
        run, shop = self.run, self.shop
        self._do(
            "ask",
            lambda: pipeline.open_request(
                signed_in=self._customer(),
                order_number=shop.order.number,
                message="I was charged twice.",
                problem="",
                client_token="t1",
                now=run.clock(),
            ),
        )

    def withdraw(self) -> None:
        """Take the request back, if it is still possible."""
        found = self._workflow("CUSTOMER")
        if found is not None:
            self._do(
                "withdraw",
                lambda: pipeline.withdraw_request(
                    signed_in=self._customer(), workflow_id=found, now=self.run.clock()
                ),
            )

    def ask_person(self) -> None:
        """Ask for a person."""
        found = self._workflow("CUSTOMER")
        if found is not None:
            self._do(
                "ask_person",
                lambda: pipeline.ask_person(
                    signed_in=self._customer(), workflow_id=found, now=self.run.clock()
                ),
            )

    # -- staff
    def start_refund(self, amount: int, *, form: str, by: int = 0) -> None:
        """Fill in the staff form for a part of the charge."""
        shop = self.shop
        asked = StaffRefundRequest(
            staff_user_id=shop.staff[by].pk,
            merchant_id=shop.merchant.pk,
            order_number=shop.order.number,
            payment_reference=shop.charge.processor_reference,
            amount_minor_units=amount,
            currency=shop.order.currency,
            reason_code="DUPLICATE_CHARGE",
            note="The zip broke on the first day.",
            client_token=form,
        )
        self._do("start_refund", lambda: pipeline.start_staff_refund(asked=asked, now=self.run.clock()))

    def decide(self, decision: str = "approve", *, by: int = 1) -> None:
        """Vote on every approval that is pending."""
        for row in self.run.rows.approvals:
            if row["state"] == "PENDING" and row["subject_kind"] == "REFUND":
                self._do(f"decide {decision}", lambda row=row: self._decide(row, decision, by))

    def _decide(self, row: dict[str, Any], decision: str, by: int) -> Any:
        approval = ApprovalRequest.objects.get(pk=row["id"])
        return pipeline.decide(
            approval_id=approval.pk,
            decision=decision,
            staff_user_id=self.shop.staff[by].pk,
            fingerprint=approval.request_fingerprint,
            reason_code="CONFIRMED",
            note="" if decision == "approve" else "No.",
            now=self.run.clock(),
        )

    def work(self, what: str, *, by: int = 1, **more: Any) -> None:
        """Claim every open case and do one thing with it: read_evidence_again, rebuild_command, close_without_refund."""
        self._claim(by)
        for row in self.run.rows.cases:
            if row["closed_at"] is None:
                action = self._action(row, by)
                self._do(
                    what,
                    lambda action=action: getattr(pipeline, what)(
                        action=action, now=self.run.clock(), **more
                    ),
                )

    def give_up(self, *, by: int = 1, confirmed_by: int = 2) -> None:
        """Two people agree that operations in review were never executed, by what one of them saw at the provider."""
        self.look_up(by=by)
        self.run.drain()
        for operation in self.run.rows.operations:
            if operation["state"] == "MANUAL_REVIEW":
                self._claim(by)
                self._do("propose", lambda row=operation: self._propose(row, by))
        for row in self.run.rows.approvals:
            if row["state"] == "PENDING" and row["subject_kind"] == "EVIDENCE":
                self._do("confirm", lambda row=row: self._confirm(row, confirmed_by))

    def _propose(self, operation: dict[str, Any], by: int) -> Any:
        case = next(row for row in self.run.rows.cases if row["closed_at"] is None)
        now = self.run.clock()
        seen = ProviderStatement(
            source="DASHBOARD", seen_at=now, provider_reference="log_1", words="No refund there."
        )
        action = self._action(case, by)
        pipeline.propose_cancellation(action=action, operation_id=operation["id"], found=seen, now=now)

    def _confirm(self, row: dict[str, Any], by: int) -> Any:
        return pipeline.decide_cancellation(
            approval_id=row["id"],
            decision="approve",
            staff_user_id=self.shop.staff[by].pk,
            fingerprint=row["request_fingerprint"],
            reason_code="CONFIRMED",
            note="Looked at it too.",
            now=self.run.clock(),
        )

    def _claim(self, by: int) -> None:
        for row in self.run.rows.cases:
            if row["closed_at"] is None:
                action = self._action(row, by)
                self._do(
                    "claim", lambda action=action: pipeline.claim_case(action=action, now=self.run.clock())
                )

    def _action(self, case: dict[str, Any], by: int) -> CaseAction:
        return CaseAction(
            ticket=case["ticket"],
            staff_user_id=self.shop.staff[by].pk,
            reason_code="CONFIRMED",
            note="Looked at it.",
        )

    def look_up(self, *, by: int = 1) -> None:
        """Have the provider asked about every operation now."""
        for row in self.run.rows.operations:
            self._do(
                "look_up_again",
                lambda row=row: pipeline.look_up_again(
                    operation_id=row["id"], staff_user_id=self.shop.staff[by].pk, now=self.run.clock()
                ),
            )

    # -- the operator and the world
    def switch(self, *, on: bool) -> None:
        """Turn the kill switch of gateway writes."""
        run = self.run
        actor = Actor.staff(self.shop.staff[0].pk)
        self._do(
            f"switch {'on' if on else 'off'}",
            lambda: turn(GATEWAY_WRITES, on=on, reason="test", actor=actor, now=run.clock()),
        )

    def dispute(self) -> None:
        """Let the customer's bank take the charge, at the provider and in the ledger."""
        run = self.run
        charge = run.provider.charges[self.shop.charge.processor_reference]
        charge.disputed = True
        run.watch.foreign_money = True
        self._do("dispute", lambda: learn_dispute(self.shop.charge, run.clock()))
        run.watch.dispute_known_at = run.clock.at

    def refund_in_dashboard(self, amount: int) -> None:
        """Let somebody refund a part of the charge in the provider's dashboard; the desk is told by an event."""
        self.run.watch.foreign_money = True
        charge = self.shop.charge.processor_reference
        left = self.run.provider.charges[charge].amount - self.run.provider.live_amount(charge)
        if left >= amount:  # nobody can refund more there than is left
            self.run.provider.refund_in_dashboard(charge, amount)

    def _customer(self) -> Any:
        return identify_customer(user=self.shop.customer.user, host="testserver", method="session")

    def _workflow(self, origin: str) -> str | None:
        return next((row["id"] for row in self.run.rows.workflows if row["origin"] == origin), None)
