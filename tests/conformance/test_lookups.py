"""Facts 10, items 46 to 48 of the provider's side; docs.stripe.com/api-v2-overview, /api/refunds/list, /search."""

from tests.conformance.provider import Provider

_LAG = 600.0


def test_46_a_refund_is_in_the_top_level_list_at_once(provider: Provider) -> None:
    payment = provider.pay()
    for form in ({"charge": payment.charge}, {"payment_intent": payment.intent}):
        made = provider.refund(payment, amount=100, **{"metadata[refund_operation_id]": "rfop_1"}).json
        listed = provider.call("GET", "/v1/refunds", form).json["data"]
        assert listed[0] == made
        assert listed[0]["metadata"]["refund_operation_id"] == "rfop_1"


def test_46_the_charges_own_list_may_be_behind(provider: Provider) -> None:
    control, payment = provider.control, provider.pay()
    path = f"/v1/charges/{payment.charge}/refunds"
    made = provider.refund(payment, amount=100).json
    assert [one["id"] for one in provider.call("GET", path).json["data"]] == [made["id"]]
    control.set_undocumented(lag_charge_refunds_seconds=_LAG)
    assert provider.call("GET", path).json["data"] == []
    assert provider.amounts(payment) == [100]
    control.advance(_LAG)
    assert [one["status"] for one in provider.call("GET", path).json["data"]] == ["succeeded"]
    control.set_refund_status(made["id"], "failed")
    assert [one["status"] for one in provider.call("GET", path).json["data"]] == ["succeeded"]
    assert [one["status"] for one in provider.refunds(payment)] == ["failed"]
    control.advance(_LAG)
    assert [one["status"] for one in provider.call("GET", path).json["data"]] == ["failed"]


def test_46_search_knows_charges_later_and_refunds_never(provider: Provider) -> None:
    control = provider.control
    control.set_undocumented(lag_search_seconds=_LAG)
    control.seed_charge("ch_1", amount=100, metadata={"order": "7"})
    query = {"query": 'metadata["order"]:"7"'}
    assert provider.call("GET", "/v1/charges/search", query).json["data"] == []
    control.advance(_LAG + 1)
    (found,) = provider.call("GET", "/v1/charges/search", query).json["data"]
    assert found["id"] == "ch_1"
    assert provider.call("GET", "/v1/refunds/search", query).status in (400, 404)


def test_46_events_may_be_behind_and_one_may_be_nowhere(provider: Provider) -> None:
    control, payment = provider.control, provider.pay()
    control.set_undocumented(lag_events_seconds=_LAG)
    made = provider.refund(payment, "key-1", amount=100).json
    assert provider.events_about(made["id"], "refund.created") == []
    control.advance(_LAG)
    (told,) = provider.events_about(made["id"], "refund.created")
    assert told["request"]["idempotency_key"] == "key-1"
    control.bend_webhooks(type="refund.created", ungenerated=True)
    never_told = provider.refund(payment, amount=100).json
    control.advance(_LAG)
    assert provider.events_about(never_told["id"], "refund.created") == []
    assert len(provider.refunds(payment)) == 2


def test_46_events_are_listed_for_thirty_days(provider: Provider) -> None:
    control, payment = provider.control, provider.pay()
    made = provider.refund(payment).json
    control.advance(30 * 86_400 - 60)
    assert provider.events_about(made["id"], "refund.created")
    control.advance(120)
    assert provider.events_about(made["id"], "refund.created") == []


def test_47_the_list_of_an_unknown_charge_is_an_error(provider: Provider) -> None:
    answer = provider.call("GET", "/v1/refunds", {"charge": "ch_3conformanceNobody"})
    assert answer.status in (400, 404)
    assert answer.error["code"] == "resource_missing"


def test_48_a_charge_has_no_refunds_unless_they_are_asked_for(provider: Provider) -> None:
    payment = provider.pay()
    made = provider.refund(payment, amount=100).json
    path = f"/v1/charges/{payment.charge}"
    assert provider.call("GET", path, version="2022-11-15").json.get("refunds") is None
    asked = provider.call("GET", path, {"expand[]": "refunds"}).json["refunds"]
    assert (asked["object"], [one["id"] for one in asked["data"]]) == ("list", [made["id"]])


def test_48_before_that_version_they_came_with_it(provider: Provider) -> None:
    payment = provider.pay()
    made = provider.refund(payment, amount=100).json
    charge = provider.call("GET", f"/v1/charges/{payment.charge}", version="2022-08-01").json
    assert [one["id"] for one in charge["refunds"]["data"]] == [made["id"]]
