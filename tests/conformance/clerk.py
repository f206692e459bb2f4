"""One refund operation without a database: the product's adapter and verdicts, against the simulated provider."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.port import GatewayAnswer, RefundCommand
from refunds.gateways.stripe import StripeGateway
from refunds.states import OperationState
from refunds.verdicts import (
    AttemptFacts,
    Judgement,
    OperationFacts,
    judge,
    state_after_answer,
    state_after_check,
)
from tests.support.gateway_simulator import GatewaySimulator

PAST_THE_HORIZON = timedelta(seconds=STRIPE_V1.in_flight_horizon_seconds + 60)
_NUMBERS = count(1)
_O = OperationState


class Clerk:
    """Sends and looks up as stages 10 and 11 do, and holds every state that follows against the provider's book."""

    def __init__(self, simulator: GatewaySimulator, *, account: str = "", **charge: Any) -> None:
        number = next(_NUMBERS)
        self.simulator = simulator
        self.charge = simulator.seed_charge(f"ch_{number}", **({"amount": 5000, "account": account} | charge))
        operation_id = f"rfop_{number}"
        self.command = RefundCommand(
            operation_id=operation_id,
            idempotency_key=f"refund:{operation_id}",
            account=account,
            payment_reference=self.charge,
            amount_minor_units=5000,
            currency=str(charge.get("currency", "usd")).upper(),
            reason_code="DUPLICATE_CHARGE",
        )
        self.state = _O.CREATED
        self.attempts: list[AttemptFacts] = []
        self.reference: str | None = None
        self.effect_to_come = False

    def changed(self, **changes: Any) -> "Clerk":
        """Change the command before anything is sent."""
        self.command = replace(self.command, **changes)
        return self

    def gateway(self, *, api_key: str = GatewaySimulator.api_key) -> StripeGateway:
        """Return the product's adapter; its waits between reads are not waited for."""
        return StripeGateway(
            api_key=api_key,
            api_base=self.simulator.url,
            connect_timeout_seconds=1.0,
            answer_timeout_seconds=2.0,
            contract=STRIPE_V1,
            sleep=lambda _seconds: None,
        )

    def send(self, *, api_key: str = GatewaySimulator.api_key) -> GatewayAnswer:
        """Submit once, and again under the same key at every later call; return what that taught."""
        begun = datetime.now(UTC)
        answer = self.gateway(api_key=api_key).submit_refund(self.command)
        self.take(answer, begun)
        return answer

    def take(self, answer: GatewayAnswer, begun: datetime) -> None:
        """Draw the conclusion of one answer, as stage 10 does."""
        earlier = [attempt.answer_class for attempt in self.attempts]
        self.attempts.append(
            AttemptFacts(
                started_at=begun,
                answer_class=answer.answer_class,
                http_status=answer.http_status,
                error_type=answer.error_type or "",
                error_code=answer.error_code or "",
                account=self.command.account,
            )
        )
        before = self.state if self.state is _O.PROVIDER_PENDING else _O.SUBMITTED
        self.state = (
            state_after_answer(
                before, answer.answer_class, earlier=earlier, went_back_before=answer.went_back_before
            )
            or before
        )
        if answer.refund is not None:
            self.reference = answer.refund.processor_reference
        self.check()

    def look_up(self, *, after: timedelta = PAST_THE_HORIZON) -> Judgement:
        """Ask the provider's books, conclude as stage 11 does, and return the verdict."""
        gateway, command = self.gateway(), self.command
        lookups = [gateway.list_refunds(payment_reference=command.payment_reference, account=command.account)]
        if self.reference is not None:
            lookups.append(
                gateway.retrieve_refund(processor_reference=self.reference, account=command.account)
            )
        facts = OperationFacts(
            operation_id=command.operation_id,
            amount_minor_units=command.amount_minor_units,
            currency=command.currency,
            processor_reference=self.reference,
            attempts=tuple(self.attempts),
            account=command.account,
        )
        judgement = judge(facts, lookups, contract=STRIPE_V1, now=datetime.now(UTC) + after)
        if judgement.refund is not None:
            self.reference = judgement.refund.processor_reference
        self.state = state_after_check(self.state, judgement) or self.state
        self.check()
        return judgement

    def ours(self) -> list[dict[str, Any]]:
        """Return the refunds of this operation in the provider's book: the truth."""
        found = self.simulator.refunds(self.charge)
        return [
            one
            for one in found
            if one["metadata"].get("refund_operation_id") == self.command.operation_id
            and one["account"] == self.command.account
        ]

    def check(self) -> None:
        """Fail if what is concluded is not so: this is what no setting of the provider may bring about."""
        ours = self.ours()
        statuses = [one["status"] for one in ours]
        assert len(ours) <= 1, "one operation, two refunds"
        if self.state in {_O.REJECTED, _O.CREATED, _O.CONFIRMED_ABSENT}:
            assert not self.effect_to_come, f"{self.state}, and its effect is still to come"
            assert statuses == [], f"{self.state}, and the provider has the refund"
        elif self.state is _O.COMPLETED:
            assert statuses == ["succeeded"]
        elif self.state is _O.PROVIDER_PENDING:
            assert statuses in (["pending"], ["requires_action"])
        elif self.state is _O.FAILED:
            assert statuses in (["failed"], ["canceled"])
