"""The simulated provider against what the provider documents about refunds, in raw HTTP.

docs.stripe.com/refunds, docs.stripe.com/api/refunds
"""

import http.client
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from tests.simulators.raw import amounts, call, in_parallel, refund
from tests.support.gateway_simulator import GatewaySimulator


def test_a_refund_object(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000, payment_intent="pi_9")
    answer = refund(
        gateway_simulator, amount=100, reason="duplicate", **{"metadata[refund_operation_id]": "rfop_1"}
    )
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["request-id"].startswith("req_")
    made = answer.json
    assert made["id"].startswith("re_")
    assert isinstance(made["created"], int)
    assert {name: made[name] for name in ("object", "amount", "currency", "charge", "payment_intent")} == {
        "object": "refund",
        "amount": 100,
        "currency": "usd",
        "charge": "ch_1",
        "payment_intent": "pi_9",
    }
    assert (made["status"], made["reason"]) == ("succeeded", "duplicate")
    assert made["metadata"] == {"refund_operation_id": "rfop_1"}
    assert call(gateway_simulator, "GET", f"/v1/refunds/{made['id']}").json == made


def test_up_to_what_is_left_and_not_more(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    refund(gateway_simulator, amount=3000)
    refused = refund(gateway_simulator, amount=2001)
    assert (refused.status, refused.error["type"]) == (400, "invalid_request_error")
    assert (refused.error["param"], refused.error.get("code")) == ("amount", None)
    assert call(gateway_simulator, "GET", "/v1/charges/ch_1").json["refunded"] is False
    assert refund(gateway_simulator, amount=2000).status == 200
    charge = call(gateway_simulator, "GET", "/v1/charges/ch_1").json
    assert (charge["amount_refunded"], charge["refunded"]) == (5000, True)


def test_without_an_amount_what_is_left_is_refunded(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    refund(gateway_simulator, amount=3000)
    assert refund(gateway_simulator).json["amount"] == 2000


def test_a_refunded_charge_is_refused(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    refund(gateway_simulator)
    for refused in (refund(gateway_simulator), refund(gateway_simulator, amount=1)):
        assert (refused.status, refused.error["code"]) == (400, "charge_already_refunded")


def test_concurrent_partials_never_exceed_the_charge(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=10000)
    barrier = Barrier(12)
    statuses: list[int] = []

    def submit(number: int) -> None:
        barrier.wait()
        statuses.append(refund(gateway_simulator, f"k{number}", amount=3000).status)

    in_parallel([partial(submit, number) for number in range(12)])
    assert sorted(statuses) == [200] * 3 + [400] * 9
    assert amounts(gateway_simulator) == [3000, 3000, 3000]


def test_equal_partials_under_two_keys_are_two_refunds(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    first, second = (refund(gateway_simulator, key, amount=100) for key in ("k1", "k2"))
    assert first.json["id"] != second.json["id"]
    assert amounts(gateway_simulator) == [100, 100]


def test_a_disputed_charge_is_refused(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000, disputed=True)
    refused = refund(gateway_simulator, amount=100)
    assert (refused.status, refused.error["code"]) == (400, "charge_disputed")
    assert amounts(gateway_simulator) == []


def test_an_uncaptured_payment_is_refused(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000, captured=False)
    for param, reference in (("charge", "ch_1"), ("payment_intent", "pi_1")):
        refused = call(gateway_simulator, "POST", "/v1/refunds", {param: reference})
        assert (refused.status, refused.error["param"]) == (400, param)
        assert "does not have a successful charge to refund" in refused.error["message"]
    charge = call(gateway_simulator, "GET", "/v1/charges/ch_1").json
    assert (charge["captured"], charge["amount_captured"], charge["refunded"]) == (False, 0, False)


@pytest.mark.parametrize(
    ("currency", "wrong", "right"), [("jpy", None, 500), ("kwd", 5124, 5120), ("isk", 550, 500)]
)
def test_currencies_without_two_decimals(
    gateway_simulator: GatewaySimulator, currency: str, wrong: int | None, right: int
) -> None:
    gateway_simulator.seed_charge("ch_1", amount=10000, currency=currency)
    if wrong is not None:
        refused = refund(gateway_simulator, amount=wrong)
        assert (refused.status, refused.error["param"]) == (400, "amount")
    assert refund(gateway_simulator, amount=right).json["amount"] == right
    assert amounts(gateway_simulator) == [right]


@pytest.mark.parametrize("reason", ["other", "expired_uncaptured_charge", ""])
def test_other_reasons_are_refused(gateway_simulator: GatewaySimulator, reason: str) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    refused = refund(gateway_simulator, amount=100, reason=reason)
    assert (refused.status, refused.error["param"]) == (400, "reason")


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ({"amount": 0}, "parameter_invalid_integer"),
        ({"amount": -5}, "parameter_invalid_integer"),
        ({"amount": ""}, "parameter_invalid_integer"),
        ({"amount": "1.5"}, "parameter_invalid_integer"),
        ({"amount": "9" * 30}, "parameter_invalid_integer"),
        ({"amount": 10**12}, "parameter_invalid_integer"),
        ({"charge": ""}, "parameter_missing"),
        ({"payment_intent": "pi_1"}, "parameters_exclusive"),
        ({"colour": "blue"}, "parameter_unknown"),
        ({"metadata": "x"}, None),
        ({"metadata[" + "k" * 41 + "]": "x"}, None),
        ({"metadata[k]": "x" * 501}, None),
        ({f"metadata[k{number}]": "x" for number in range(51)}, None),
        ({"amount": "1\x00"}, None),
    ],
)
def test_parameters_are_validated(
    gateway_simulator: GatewaySimulator, form: dict[str, Any], code: str | None
) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    refused = refund(gateway_simulator, "k", **form)
    assert (refused.status, refused.error["type"]) == (400, "invalid_request_error")
    assert refused.error.get("code") == code
    assert amounts(gateway_simulator) == []


def test_an_unknown_payment_is_missing(gateway_simulator: GatewaySimulator) -> None:
    for param, reference in (("charge", "ch_none"), ("payment_intent", "pi_none")):
        answer = call(gateway_simulator, "POST", "/v1/refunds", {param: reference})
        assert (answer.status, answer.error["code"], answer.error["param"]) == (
            404,
            "resource_missing",
            param,
        )


def test_metadata_can_be_updated_and_nothing_else(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    made = refund(gateway_simulator, amount=100, **{"metadata[a]": "1", "metadata[b]": "2"}).json["id"]
    path = f"/v1/refunds/{made}"
    updated = call(gateway_simulator, "POST", path, {"metadata[a]": "3", "metadata[b]": ""})
    assert updated.json["metadata"] == {"a": "3"}
    assert call(gateway_simulator, "POST", path, {"amount": "1"}).error["code"] == "parameter_unknown"


# docs.stripe.com/api/refunds/list


def test_a_booked_refund_is_listed_at_once(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("drop_after")
    with pytest.raises(http.client.RemoteDisconnected):
        refund(gateway_simulator, amount=100)
    for query in ("charge=ch_1", "payment_intent=pi_1"):
        listed = call(gateway_simulator, "GET", f"/v1/refunds?{query}").json
        assert (listed["object"], listed["has_more"]) == ("list", False)
        assert [one["amount"] for one in listed["data"]] == [100]


def test_the_list_of_an_unknown_payment_is_an_error(gateway_simulator: GatewaySimulator) -> None:
    for query in ("charge=ch_none", "payment_intent=pi_none"):
        answer = call(gateway_simulator, "GET", f"/v1/refunds?{query}")
        assert (answer.status, answer.error["code"]) == (404, "resource_missing")


def test_pages_newest_first(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.seed_charge("ch_2", amount=5000)
    for amount in range(1, 12):
        refund(gateway_simulator, amount=amount)
    call(gateway_simulator, "POST", "/v1/refunds", {"charge": "ch_2", "amount": 99})
    pages: list[dict[str, Any]] = []
    after = ""
    while not pages or pages[-1]["has_more"]:
        answer = call(gateway_simulator, "GET", f"/v1/refunds?charge=ch_1&limit=5{after}")
        pages.append(answer.json)
        after = f"&starting_after={pages[-1]['data'][-1]['id']}"
    amounts = [[one["amount"] for one in page["data"]] for page in pages]
    assert amounts == [[11, 10, 9, 8, 7], [6, 5, 4, 3, 2], [1]]
    assert len(call(gateway_simulator, "GET", "/v1/refunds?charge=ch_1").json["data"]) == 10
    assert len(call(gateway_simulator, "GET", "/v1/refunds?limit=100").json["data"]) == 12


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "starting_after=re_none", "status=failed"]
)
def test_list_parameters_are_validated(gateway_simulator: GatewaySimulator, query: str) -> None:
    assert call(gateway_simulator, "GET", f"/v1/refunds?{query}").status in (400, 404)


def test_accounts_are_kept_apart(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000, account="acct_1")
    form = {"charge": "ch_1", "amount": 100}
    assert call(gateway_simulator, "POST", "/v1/refunds", form, key="k").status == 404
    made = call(gateway_simulator, "POST", "/v1/refunds", form, key="k", account="acct_1")
    assert made.status == 200
    path = f"/v1/refunds/{made.json['id']}"
    assert call(gateway_simulator, "GET", path).status == 404
    assert call(gateway_simulator, "GET", path, account="acct_1").status == 200
    assert call(gateway_simulator, "GET", "/v1/refunds").json["data"] == []
    assert call(gateway_simulator, "GET", "/v1/charges/ch_1").status == 404
    assert [one["account"] for one in gateway_simulator.refunds()] == ["acct_1"]


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Basic sk_test_1", "Bearer sk_live_1", "sk_test_1"]
)
def test_only_test_keys_are_taken(gateway_simulator: GatewaySimulator, authorization: str | None) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    form = {"charge": "ch_1", "amount": 100}
    answer = call(gateway_simulator, "POST", "/v1/refunds", form, authorization=authorization)
    assert (answer.status, answer.error["type"]) == (401, "invalid_request_error")
    assert amounts(gateway_simulator) == []


def test_a_charge_has_no_refunds_inside(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge(
        "ch_1", amount=5000, payment_method_fingerprint="fp_1", metadata={"order": "1"}
    )
    charge = call(gateway_simulator, "GET", "/v1/charges/ch_1").json
    assert "refunds" not in charge
    assert charge["payment_method_details"]["card"]["fingerprint"] == "fp_1"
    assert (charge["object"], charge["metadata"], charge["disputed"]) == ("charge", {"order": "1"}, False)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/v1/nothing"), ("DELETE", "/v1/refunds/re_1"), ("PUT", "/v1/refunds")],
)
def test_other_addresses_are_not_found(gateway_simulator: GatewaySimulator, method: str, path: str) -> None:
    assert call(gateway_simulator, method, path).status == 404
