"""The story's own checks: what must make it fail, and what its shop remembers."""

from contextlib import ExitStack
from dataclasses import replace
from types import SimpleNamespace

import pytest

from config.demo.story import scene as scene_module
from config.demo.story.books import OurRefund
from config.demo.story.orders import StoryOrder
from config.demo.story.provider_trouble import SENT_AGAIN
from config.demo.story.scene import Scene
from config.demo.story.simulators import Shop
from config.demo.story.visitors import CustomerVisitor, StoryError
from tests.support.shop_simulator import ShopSimulator

ORDER = StoryOrder("5005", "Desk lamp", 4_200, 2)
KEY = "refund:rfop_1"
OURS = OurRefund(
    operation_id="rfop_1",
    state="COMPLETED",
    workflow_state="COMPLETED",
    amount_minor_units=4_200,
    currency="USD",
    processor_reference="re_1",
    idempotency_key=KEY,
    attempts=2,
    events=SENT_AGAIN,
    ledger_entries=1,
    payment_reference=ORDER.later_charge,
    account="",
    reason_code="DUPLICATE_CHARGE",
)
BOOKED = {"id": "re_1", "amount": 4_200, "currency": "usd", "status": "succeeded"}
TOLD = {"heading": "Your refund was processed.", "body": "", "key": "REFUND_CONFIRMED"}


def scene_with(monkeypatch, *, booked=(BOOKED,), keys=(KEY, KEY), ours=(OURS,)):
    """A scene whose two books say this."""
    provider = SimpleNamespace(
        refunds=lambda _charge: list(booked),
        posts_for=lambda _charge: [{"idempotency_key": key} for key in keys],
    )
    monkeypatch.setattr(scene_module, "our_refunds", lambda _workflow: list(ours))
    visitor = SimpleNamespace(look=lambda _workflow: {"status": TOLD})
    return Scene(
        customer=None,
        say=lambda _line: None,
        provider=provider,
        shop=None,
        model=None,
        mail=None,
        visitor=visitor,
    )


def test_the_same_key_twice_and_one_refund_is_what_proven_absence_may_lead_to(monkeypatch):
    scene = scene_with(monkeypatch)

    assert scene.expect_refunded(ORDER, "wf_1", through=SENT_AGAIN, requests=2) == OURS


@pytest.mark.parametrize(
    ("books", "said"),
    [
        ({"keys": (KEY, f"{KEY}:2")}, "requests sent: 2, keys: 2"),
        ({"keys": (f"{KEY}:2", f"{KEY}:2")}, "requests sent: 2, keys: 1"),
        ({"keys": (KEY, KEY, KEY)}, "requests sent: 3, keys: 1"),
        ({"booked": (BOOKED, BOOKED | {"id": "re_2"})}, "has 2 refunds"),
        ({"booked": ()}, "has 0 refunds"),
        ({"booked": (BOOKED | {"amount": 4_201},)}, "disagree"),
        ({"ours": (OURS, replace(OURS, operation_id="rfop_2"))}, "2 operations"),
        ({"ours": (replace(OURS, events="CREATED > SUBMITTED > COMPLETED"),)}, "another story"),
        ({"ours": (replace(OURS, attempts=1),)}, "another story"),
        ({"ours": (replace(OURS, ledger_entries=0),)}, "another story"),
        ({"ours": (replace(OURS, workflow_state="EXECUTING"),)}, "another story"),
    ],
)
def test_anything_else_is_noticed(monkeypatch, books, said):
    scene = scene_with(monkeypatch, **books)

    with pytest.raises(StoryError, match=said):
        scene.expect_refunded(ORDER, "wf_1", through=SENT_AGAIN, requests=2)


@pytest.mark.parametrize(
    "heading", ["Your refund was processed.", "Your refund has been confirmed.", "It failed."]
)
def test_a_customer_who_is_told_of_an_outcome_too_early_is_noticed(monkeypatch, heading):
    scene = scene_with(monkeypatch)

    with pytest.raises(StoryError, match="more than the rows prove"):
        scene.expect_no_claim({"status": TOLD | {"heading": heading}})


def test_a_shop_that_was_started_again_gets_the_storys_orders_back(tmp_path, settings):
    order = {"merchant": "harbour-home", "number": "5001", "customer": "C-1", "placed_at": "-1d"}
    with ShopSimulator() as simulator, ExitStack() as closing:
        settings.LEDGER_SOURCE_URL = simulator.url
        shop, later = Shop(tmp_path / "shop.json"), Shop(tmp_path / "shop.json")
        closing.callback(shop.close)
        closing.callback(later.close)
        assert shop.remember() == 0
        shop.take([order])
        shop.take([order | {"number": "5002"}])
        simulator.restart()
        assert simulator.control("GET", "orders")["orders"] == []

        assert later.remember() == 2

        assert [row["number"] for row in simulator.control("GET", "orders")["orders"]] == ["5001", "5002"]


def test_once_stuck_a_hurried_visitor_no_longer_waits_long(monkeypatch):
    visitor = CustomerVisitor.__new__(CustomerVisitor)
    visitor._hurried, visitor._stuck = True, False
    clock = iter(range(0, 10_000, 5))
    monkeypatch.setattr("config.demo.story.visitors.time.monotonic", lambda: next(clock))
    monkeypatch.setattr("config.demo.story.visitors.time.sleep", lambda _seconds: None)
    monkeypatch.setattr(visitor, "look", lambda _workflow: {"state": "EXECUTING"})

    with pytest.raises(StoryError, match="after 45 s"):
        visitor.wait_for("wf_1", {"COMPLETED"})
    with pytest.raises(StoryError, match="after 8 s"):
        visitor.wait_for("wf_1", {"COMPLETED"}, seconds=90)
