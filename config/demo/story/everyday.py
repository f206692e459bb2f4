"""Four requests as they come every day: automatic, approved, answer lost, and nothing to refund."""

from config.demo.people import STAFF
from config.demo.story.books import our_refunds
from config.demo.story.orders import StoryOrder
from config.demo.story.scene import ENDED, Scene
from config.demo.story.visitors import ReviewerVisitor, StoryError

LOOKED_UP = "CREATED > SUBMITTED > STATUS_UNKNOWN > COMPLETED"


def automatic(scene: Scene, order: StoryOrder) -> None:
    """A duplicate below the limit is refunded without a person."""
    request = scene.ask(order, f"I was charged twice for order #{order.number}. Please refund the duplicate.")
    scene.visitor.wait_for(request, ENDED)
    scene.expect_refunded(order, request)


def approved(scene: Scene, order: StoryOrder) -> None:
    """One above the limit waits until a person has approved it."""
    request = scene.ask(order, f"Order #{order.number} was taken from my card twice.")
    waiting = scene.visitor.wait_for(request, {"REQUIRES_HUMAN_APPROVAL"} | ENDED)
    scene.told(waiting)
    if waiting["state"] != "REQUIRES_HUMAN_APPROVAL":
        raise StoryError(f"a refund above the limit went to {waiting['state']} without a person")
    scene.expect_nothing_sent(order)
    reviewer = STAFF[0].email(scene.customer.merchant.code)
    ReviewerVisitor(reviewer).approve(waiting["ticket"])
    scene.say(f"   {reviewer} compared both charges and approved ticket #{waiting['ticket']}")
    scene.visitor.wait_for(request, ENDED)
    scene.expect_refunded(order, request)


def lost(scene: Scene, order: StoryOrder) -> None:
    """The provider books it, and neither its answer nor its events arrive: it is looked up, and not sent again."""
    scene.provider.bend_events(order.later_charge, lost=True)
    scene.provider.arm("drop_after", order.later_charge)
    # Time to look while it is unknown.
    scene.provider.arm("delay", order.later_charge, on="list", seconds=2)
    request = scene.ask(order, f"Two charges for #{order.number}, please check.")
    scene.look_while_unknown(request)
    scene.visitor.wait_for(request, ENDED, seconds=90)
    scene.expect_refunded(order, request, through=LOOKED_UP)


def hold(scene: Scene, order: StoryOrder) -> None:
    """A charge and a hold are no duplicate, and the customer is told why."""
    request = scene.ask(order, f"My statement shows #{order.number} twice!")
    seen = scene.visitor.wait_for(request, ENDED)
    scene.told(seen)
    if (seen["state"], seen["reason_code"]) != ("NO_REFUND_DUE", "AUTHORISATION_HOLD"):
        raise StoryError(f"a hold ended {seen['state']} ({seen['reason_code']})")
    if scene.provider.refunds(order.later_charge) or our_refunds(request):
        raise StoryError("a hold was refunded")
    scene.held("provider's book: no refund · our book: no operation · the customer knows why")
