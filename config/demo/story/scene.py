"""What every part of the story works with: the people, the simulators, both books, and a way to say what happens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from config.demo.people import RULES, STAFF
from config.demo.story.books import OurRefund, ProviderBook, our_refunds
from config.demo.story.orders import StoryOrder
from config.demo.story.rows import proposal_about
from config.demo.story.simulators import MailServer, Model, RealModel, Shop
from config.demo.story.visitors import CustomerVisitor, ReviewerVisitor, StoryError
from ledger.models import Customer
from ledger.money import format_minor_units

ENDED: Final = {"COMPLETED", "MANUAL_REVIEW", "REJECTED", "NO_REFUND_DUE"}
AT_ONCE: Final = "CREATED > SUBMITTED > COMPLETED"
DECIDED: Final = ENDED | {"REQUIRES_HUMAN_APPROVAL", "APPROVED", "EXECUTING"}
AUTO_LIMIT: Final = RULES["auto_limit_minor_units"]["USD"]
REAL_MODEL_SECONDS: Final = 180  # two requests begin at once, and it thinks about one after the other
_TOO_MUCH: Final = ("was processed", "has been confirmed", "failed", "sent again")


@dataclass
class Scene:
    """The stage that all parts share; ``say`` prints a line."""

    customer: Customer
    say: Callable[[str], None]
    provider: ProviderBook
    shop: Shop
    model: Model | RealModel
    mail: MailServer
    visitor: CustomerVisitor

    def ask(self, order: StoryOrder, message: str, *, settled: bool = True) -> str:
        """Let the customer ask about an order, and return the id of the request.

        With a real model, wait for its word and let people finish what it could not, unless ``settled`` is False.
        """
        price = format_minor_units(order.amount_minor_units, "USD")
        self.say(f"   order #{order.number} ({order.description}, {price})")
        self.say(f"   customer: “{message}”")
        opened = self.visitor.ask(message=message, order_number=order.number)
        request = str(opened["workflow_id"])
        if settled:
            self.settle(order, request)
        return request

    def settle(self, order: StoryOrder, request: str) -> None:
        """Whatever a real model said, see the request to where an honest word leads; money does not depend on it."""
        if not isinstance(self.model, RealModel):
            return
        seen = self.visitor.wait_for(request, DECIDED, seconds=REAL_MODEL_SECONDS)
        self._say_what_was_proposed(request)
        first, second = (member.email(self.customer.merchant.code) for member in STAFF[:2])
        if seen["state"] == "MANUAL_REVIEW":
            self.say(f"   it was rejected; {second} rebuilt the command from the records")
            ReviewerVisitor(second).rebuild(seen["ticket"])
            seen = self.visitor.wait_for(request, {"REQUIRES_HUMAN_APPROVAL"})
        if seen["state"] == "REQUIRES_HUMAN_APPROVAL" and order.amount_minor_units <= AUTO_LIMIT:
            ReviewerVisitor(first).approve(seen["ticket"])
            self.say(f"   {first} approved it")

    def _say_what_was_proposed(self, request: str) -> None:
        found = proposal_about(request)
        if found is None:
            return
        if found.proposer == "deterministic":
            self.say("   the model gave no answer in time; the fixed rule proposed instead")
            return
        after = f"after {found.latency_ms / 1000:.0f} s"
        self.say(f"   {found.proposer} {after}: {found.action or 'nothing that can be used'}")

    def told(self, seen: dict[str, Any]) -> None:
        """Print what the customer reads now."""
        status = seen["status"]
        if isinstance(status, dict):
            self.say(f"   customer is told: {status['heading']}")

    def held(self, text: str) -> None:
        """Print what was compared and found right."""
        self.say(f"   ✓ {text}")

    def look_while_unknown(self, workflow_id: str) -> None:
        """Print what the customer reads before the refund is looked up, and see that it claims nothing."""
        seen = self.visitor.wait_for_operation(
            workflow_id, {"STATUS_UNKNOWN", "CONFIRMED_ABSENT", "COMPLETED", "REJECTED"}
        )
        if seen["operation"]["state"] == "STATUS_UNKNOWN":
            self.told(seen)
            self.expect_no_claim(seen)

    def expect_no_claim(self, seen: dict[str, Any]) -> None:
        """Raise ``StoryError`` if the customer is told of an outcome."""
        said = f"{seen['status']['heading']} {seen['status']['body']}".lower()
        if any(words in said for words in _TOO_MUCH):
            raise StoryError(f"the customer was told more than the rows prove: {seen['status']['heading']}")

    def expect_nothing_sent(self, order: StoryOrder) -> None:
        """Raise ``StoryError`` if anything about the order reached the provider."""
        if self.provider.posts_for(order.later_charge):
            raise StoryError("something was sent to the provider already")

    def expect_refunded(
        self, order: StoryOrder, workflow_id: str, *, through: str = AT_ONCE, requests: int = 1
    ) -> OurRefund:
        """Compare the two books: one refund there, one operation here, so many requests, one key."""
        self.told(self.visitor.look(workflow_id))
        booked, ours = self.provider.refunds(order.later_charge), our_refunds(workflow_id)
        posts = self.provider.posts_for(order.later_charge)
        self._print_books(booked, ours)
        refund = _agreed(order, booked, ours, posts, requests)
        found = (refund.workflow_state, refund.events, refund.attempts, refund.ledger_entries)
        if found != ("COMPLETED", through, requests, 1):
            raise StoryError(
                f"order #{order.number}: our book tells another story: {refund.events} "
                f"(attempts: {refund.attempts}, entries: {refund.ledger_entries}), not {through}"
            )
        sent = "one request" if requests == 1 else f"{requests} requests"
        self.held(f"one refund there, one operation here, {sent} under one key; both books agree")
        return refund

    def _print_books(self, booked: list[dict[str, Any]], ours: list[OurRefund]) -> None:
        there = [f"{r['id']} {r['amount']} {r['currency']} {r['status']}" for r in booked] or ["nothing"]
        here = [f"{r.processor_reference} {r.amount_minor_units} {r.currency} {r.events}" for r in ours]
        self.say(f"   provider's book: {'; '.join(there)}")
        self.say(f"   our book:        {'; '.join(here) or 'nothing'}")


def _agreed(
    order: StoryOrder,
    booked: list[dict[str, Any]],
    ours: list[OurRefund],
    posts: list[dict[str, Any]],
    requests: int,
) -> OurRefund:
    """Return our one operation; raise ``StoryError`` unless the provider has that one refund, asked under one key."""
    if len(ours) != 1:
        raise StoryError(f"order #{order.number}: our book has {len(ours)} operations")
    refund = ours[0]
    keys = {post["idempotency_key"] for post in posts}
    if len(booked) != 1:
        raise StoryError(f"the provider's book has {len(booked)} refunds of {order.later_charge}")
    if len(posts) != requests or keys != {refund.idempotency_key}:
        raise StoryError(
            f"order #{order.number}: requests sent: {len(posts)}, keys: {len(keys)}; "
            f"due: {requests} under the operation's own key"
        )
    if (booked[0]["id"], booked[0]["amount"]) != (refund.processor_reference, refund.amount_minor_units):
        raise StoryError(f"order #{order.number}: the two books disagree about the refund")
    return refund
