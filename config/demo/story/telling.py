"""The story: four requests of one customer, and after each the provider's book beside ours."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from config.demo.people import STAFF
from config.demo.story.books import OurRefund, ProviderBook, our_refunds, unexplained_rows
from config.demo.story.orders import StoryOrder, charges_of, fresh_orders
from config.demo.story.visitors import CustomerVisitor, ReviewerVisitor, StoryError
from ledger.clock import now_utc
from ledger.models import Customer
from ledger.money import format_minor_units

ENDED = {"COMPLETED", "MANUAL_REVIEW", "REJECTED", "NO_REFUND_DUE"}


@dataclass
class Story:
    """Tells the story for one customer; ``say`` prints a line."""

    customer: Customer
    say: Callable[[str], None]
    broken: list[str] = field(default_factory=list)

    def tell(self) -> bool:
        """Tell every part, whatever the others did, and return whether all of it held."""
        self.provider = ProviderBook()
        orders = fresh_orders(customer=self.customer, now=now_utc())
        self.provider.seed(charges_of(orders, self.customer))
        self.visitor = CustomerVisitor(self.customer)
        parts = (
            ("1. A duplicate charge is found and refunded automatically", self._automatic, "automatic"),
            ("2. A larger one waits for a person, who approves it", self._approved, "approved"),
            ("3. The provider books a refund and its answer is lost", self._lost, "lost"),
            ("4. A charge and a hold are explained, not refunded", self._hold, "hold"),
        )
        for title, part, name in parts:
            self.say(f"\n{title}")
            self._try(partial(part, orders[name]))
        self.say("\n5. Every state is explained by its events")
        self._try(self._explained)
        self._sum_up()
        return not self.broken

    def _try(self, part: Callable[[], None]) -> None:
        try:
            part()
        except StoryError as error:
            self.broken.append(str(error))
            self.say(f"   ✗ {error}")

    def _automatic(self, order: StoryOrder) -> None:
        seen = self._ask(
            order, f"I was charged twice for order #{order.number}. Please refund the duplicate."
        )
        seen = self.visitor.wait_for(seen["workflow_id"], ENDED)
        self._expect_refunded(order, seen["workflow_id"], through="CREATED > SUBMITTED > COMPLETED")

    def _approved(self, order: StoryOrder) -> None:
        seen = self._ask(order, f"Order #{order.number} was taken from my card twice.")
        waiting = self.visitor.wait_for(seen["workflow_id"], {"REQUIRES_HUMAN_APPROVAL"} | ENDED)
        self._told(waiting)
        if waiting["state"] != "REQUIRES_HUMAN_APPROVAL":
            raise StoryError(f"a refund above the limit went to {waiting['state']} without a person")
        if self.provider.posts_for(order.later_charge):
            raise StoryError("something was sent before anybody approved it")
        reviewer = STAFF[0].email(self.customer.merchant.code)
        ReviewerVisitor(reviewer).approve(waiting["ticket"])
        self.say(f"   {reviewer} compared both charges and approved ticket #{waiting['ticket']}")
        self.visitor.wait_for(seen["workflow_id"], ENDED)
        self._expect_refunded(order, seen["workflow_id"], through="CREATED > SUBMITTED > COMPLETED")

    def _lost(self, order: StoryOrder) -> None:
        self.provider.arm("drop_after", order.later_charge)
        self.provider.arm(
            "delay", order.later_charge, on="list", seconds=2
        )  # time to look while it is unknown
        seen = self._ask(order, f"Two charges for #{order.number}, please check.")
        self._look_while_unknown(seen["workflow_id"])
        self.visitor.wait_for(seen["workflow_id"], ENDED, seconds=90)
        self._expect_refunded(
            order, seen["workflow_id"], through="CREATED > SUBMITTED > STATUS_UNKNOWN > COMPLETED"
        )

    def _look_while_unknown(self, workflow_id: str) -> None:
        """Print what the customer reads before the refund is looked up, and see that it claims nothing."""
        seen = self.visitor.wait_for_operation(workflow_id, {"STATUS_UNKNOWN", "COMPLETED", "REJECTED"})
        if seen["operation"]["state"] != "STATUS_UNKNOWN":
            return
        self._told(seen)
        said = f"{seen['status']['heading']} {seen['status']['body']}".lower()
        if any(word in said for word in ("was processed", "failed", "sent again")):
            raise StoryError("the customer was told more than the rows prove while the outcome was unknown")

    def _hold(self, order: StoryOrder) -> None:
        seen = self._ask(order, f"My statement shows #{order.number} twice!")
        seen = self.visitor.wait_for(seen["workflow_id"], ENDED)
        self._told(seen)
        if (seen["state"], seen["reason_code"]) != ("NO_REFUND_DUE", "AUTHORISATION_HOLD"):
            raise StoryError(f"a hold ended {seen['state']} ({seen['reason_code']})")
        if self.provider.refunds(order.later_charge) or our_refunds(seen["workflow_id"]):
            raise StoryError("a hold was refunded")
        self._held("provider's book: no refund · our book: no operation · the customer knows why")

    def _explained(self) -> None:
        unexplained = unexplained_rows()
        if unexplained:
            raise StoryError(f"{unexplained} rows are in a state that no event explains")
        self._held("every workflow and operation is in the state of its newest event")

    def _ask(self, order: StoryOrder, message: str) -> dict[str, Any]:
        price = format_minor_units(order.amount_minor_units, "USD")
        self.say(f"   order #{order.number} ({order.description}, {price})")
        self.say(f"   customer: “{message}”")
        return self.visitor.ask(message=message, order_number=order.number)

    def _expect_refunded(self, order: StoryOrder, workflow_id: str, *, through: str) -> None:
        """Compare the two books: one refund there, one operation here, one POST, one key."""
        seen = self.visitor.look(workflow_id)
        self._told(seen)
        booked, ours = self.provider.refunds(order.later_charge), our_refunds(workflow_id)
        posts = self.provider.posts_for(order.later_charge)
        self._print_books(booked, ours)
        if len(ours) != 1:
            raise StoryError(f"our book has {len(ours)} operations")
        refund = ours[0]
        keys = {post["idempotency_key"] for post in posts}
        if len(booked) != 1:
            raise StoryError(f"the provider's book has {len(booked)} refunds of {order.later_charge}")
        if len(posts) != 1 or keys != {refund.idempotency_key}:
            raise StoryError(f"{len(posts)} requests were sent under {len(keys)} keys; one of each was due")
        if (booked[0]["id"], booked[0]["amount"]) != (refund.processor_reference, refund.amount_minor_units):
            raise StoryError("the two books disagree about the refund")
        if (refund.workflow_state, refund.events, refund.ledger_entries) != ("COMPLETED", through, 1):
            raise StoryError(
                f"our book tells another story: {refund.events}, {refund.ledger_entries} entries"
            )
        self._held("one refund there, one operation here, one request under one key; both books agree")

    def _print_books(self, booked: list[dict[str, Any]], ours: list[OurRefund]) -> None:
        there = [f"{r['id']} {r['amount']} {r['currency']} {r['status']}" for r in booked] or ["nothing"]
        here = [f"{r.processor_reference} {r.amount_minor_units} {r.currency} {r.events}" for r in ours]
        self.say(f"   provider's book: {'; '.join(there)}")
        self.say(f"   our book:        {'; '.join(here) or 'nothing'}")

    def _told(self, seen: dict[str, Any]) -> None:
        status = seen["status"]
        if isinstance(status, dict):
            self.say(f"   customer is told: {status['heading']}")

    def _held(self, text: str) -> None:
        self.say(f"   ✓ {text}")

    def _sum_up(self) -> None:
        if self.broken:
            self.say(f"\n{len(self.broken)} of 5 parts did not hold:")
            for problem in self.broken:
                self.say(f"   ✗ {problem}")
        else:
            self.say("\nAll of it held.")
