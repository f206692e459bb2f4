"""The provider never gets a request, and tells of a refund three times before it has answered."""

import time

from config.demo.story.books import our_refunds
from config.demo.story.orders import StoryOrder
from config.demo.story.rows import KeptEvents, events_about
from config.demo.story.scene import ENDED, Scene
from config.demo.story.visitors import StoryError

SENT_AGAIN = "CREATED > SUBMITTED > STATUS_UNKNOWN > CONFIRMED_ABSENT > SUBMITTED > COMPLETED"
COPIES = 3
PATIENCE_SECONDS = 30.0


def send_into_the_void(scene: Scene, order: StoryOrder) -> str:
    """Let the first request be lost on its way; return the id of the customer's request."""
    scene.provider.arm("drop_before", order.later_charge)
    request = scene.ask(order, f"Please look at #{order.number}: it is on my card twice.")
    scene.look_while_unknown(request)
    return request


def never_arrived(scene: Scene, order: StoryOrder, request: str) -> None:
    """Absence was proven, and the same command went out again under the same key."""
    scene.say(f"   order #{order.number}: the connection broke before the provider had booked anything.")
    scene.say("   The demo shortens the windows: after 5 s (else 15 min) a complete list proves absence.")
    scene.visitor.wait_for(request, ENDED, seconds=90)
    scene.expect_refunded(order, request, through=SENT_AGAIN, requests=2)


def told_early(scene: Scene, order: StoryOrder) -> None:
    """The same event comes three times, the first time before the answer to the call that caused it."""
    scene.provider.bend_events(order.later_charge, early=True, copies=COPIES)
    request = scene.ask(order, f"I see #{order.number} twice on my statement.")
    scene.visitor.wait_for(request, ENDED)
    refund = scene.expect_refunded(order, request)
    kept = _applied(str(refund.processor_reference), refund.operation_id)
    deliveries = scene.provider.deliveries_about(str(refund.processor_reference))
    events = {delivery["event"] for delivery in deliveries}
    if len(deliveries) != COPIES * len(events) or {row["state"] for row in deliveries} != {"delivered"}:
        raise StoryError(f"{len(deliveries)} deliveries of {len(events)} events did not all get through")
    if (kept.rows, kept.applied) != (len(events), len(events)) or not events:
        raise StoryError(f"{len(events)} events left {kept.rows} rows here, {kept.applied} of them applied")
    if not kept.came_before_the_answer:
        raise StoryError("the event did not come before the answer")
    (after,) = our_refunds(request)
    if after != refund:
        raise StoryError("an event that told nothing new changed our book")
    scene.held(
        f"told {COPIES} times, first before the answer; kept once, looked up, and nothing changed twice"
    )


def _applied(processor_reference: str, operation_id: str) -> KeptEvents:
    """Return the stored events once none of them waits any more."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        kept = events_about(processor_reference, operation_id)
        if kept.rows and not kept.waiting:
            return kept
        if time.monotonic() > deadline:
            raise StoryError(f"{kept.waiting} of {kept.rows} events still wait to be applied")
        time.sleep(0.2)
