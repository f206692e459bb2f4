"""The demo's page of both books: what it shows, to whom, and what its buttons may do."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import Resolver404, resolve

from config.demo.provider_page.actions import ACTIONS
from config.demo.provider_page.wording import DIFFERENCES
from refunds.models import RefundOperation
from refunds.states import DifferenceKind, OperationState
from tests.factories import make_merchant, make_staff, operation_in_state
from tests.support.gateway_simulator import GatewaySimulator

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.demo_pages.urls")]
ADDRESS = "/demo/provider/"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def simulator_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewaySimulator]:
    with GatewaySimulator(book=tmp_path_factory.mktemp("gateway") / "book.sqlite3") as simulator:
        yield simulator


@pytest.fixture
def simulator(simulator_process: GatewaySimulator, settings: Any) -> GatewaySimulator:
    simulator_process.reset()
    settings.DEMO_GATEWAY_URL = simulator_process.url
    return simulator_process


@pytest.fixture
def operator(client: Client, db: None) -> Client:
    client.force_login(get_user_model().objects.create_superuser("root", "root@example.com", "correct horse"))
    return client


def refunded(simulator: GatewaySimulator, operation: RefundOperation, **more: Any) -> dict[str, Any]:
    """Let the provider have the refund of an operation."""
    seed(simulator, operation)
    named = {"metadata": {"refund_operation_id": operation.pk}, "amount": operation.amount_minor_units}
    if operation.processor_reference:
        named["id"] = operation.processor_reference
    return simulator.seed_refund(operation.payment_reference, **(named | more))


def seed(simulator: GatewaySimulator, operation: RefundOperation) -> None:
    simulator.seed_charge(operation.payment_reference, amount=2 * operation.amount_minor_units)


def rows(page: Any) -> list[list[str]]:
    """Return the table rows as plain cells."""
    found = []
    for row in re.findall(r"<tr>(.*?)</tr>", page.text, re.DOTALL):
        cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
        found.append([" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in cells])
    return [cells for cells in found if cells and cells[0] != "Refund"]


def test_books_that_agree_are_said_to_agree(operator: Client, simulator: GatewaySimulator) -> None:
    operation = operation_in_state(OperationState.COMPLETED)
    refunded(simulator, operation)
    page = operator.get(ADDRESS)
    assert page.status_code == 200
    assert "Both books agree." in page.text
    (cells,) = rows(page)
    assert cells[:5] == [
        operation.processor_reference,
        "$49.99, succeeded",
        "$49.99, COMPLETED",
        operation.pk,
        "none",
    ]


@pytest.mark.parametrize(
    ("state", "there", "kind"),
    [
        (OperationState.STATUS_UNKNOWN, {}, "STATUS_DIFFERS"),
        (OperationState.COMPLETED, {"status": "failed"}, "STATUS_DIFFERS"),
        (OperationState.COMPLETED, {"amount": 1}, "AMOUNT_DIFFERS"),
        (OperationState.COMPLETED, None, "MISSING_AT_PROVIDER"),
        (OperationState.COMPLETED, {"metadata": {}, "id": "re_of_somebody"}, "MISSING_OURS"),
        (OperationState.COMPLETED, {"metadata": {"refund_operation_id": "rfop_X"}}, "UNKNOWN_OPERATION_ID"),
    ],
)
def test_each_difference_is_marked_in_words(
    operator: Client,
    simulator: GatewaySimulator,
    state: OperationState,
    there: dict[str, Any] | None,
    kind: str,
) -> None:
    operation = operation_in_state(state)
    seed(simulator, operation)
    if there is not None:
        refunded(simulator, operation, **there)
    page = operator.get(ADDRESS)
    assert "1 payment differs." in page.text
    assert f"<strong>{DIFFERENCES[kind]}</strong>" in page.text


def test_two_refunds_of_one_operation_are_called_that(operator: Client, simulator: GatewaySimulator) -> None:
    operation = operation_in_state(OperationState.COMPLETED)
    refunded(simulator, operation)
    refunded(simulator, operation, id="re_second")
    assert DIFFERENCES["DUPLICATE_FOR_OPERATION"] in operator.get(ADDRESS).text


def test_every_difference_that_two_books_can_have_has_a_sentence() -> None:
    of_reports = {"MISSING_IN_SETTLEMENT", "FAILED_BUT_SETTLED", "COMPLETED_BUT_RETURNED"}
    of_reports |= {"DISPUTE_MISSING_OURS", "REPORTS_DISAGREE"}
    assert set(DIFFERENCES) == {str(kind) for kind in DifferenceKind} - of_reports


def test_without_any_refund_the_page_says_what_to_do(operator: Client, simulator: GatewaySimulator) -> None:
    page = operator.get(ADDRESS)
    assert "Neither book has a refund yet." in page.text
    assert rows(page) == []


def test_a_provider_that_is_down_is_said_to_be_down(operator: Client, settings: Any) -> None:
    for url, why in (("http://127.0.0.1:1", "ConnectError"), ("", "DEMO_GATEWAY_URL is not set")):
        settings.DEMO_GATEWAY_URL = url
        page = operator.get(ADDRESS)
        assert page.status_code == 503
        assert 'role="alert"' in page.text
        assert why in page.text


def test_staff_see_their_own_merchants_payments_and_no_buttons(
    client: Client, simulator: GatewaySimulator
) -> None:
    mine = operation_in_state(OperationState.COMPLETED)
    refunded(simulator, mine)
    colleague, stranger = make_staff(merchant=mine.merchant), make_staff(merchant=make_merchant())
    client.force_login(colleague)
    page = client.get(ADDRESS)
    assert mine.pk in page.text
    assert "<form" not in page.text.partition('id="content"')[2]
    client.force_login(stranger)
    assert mine.pk not in client.get(ADDRESS).text
    assert mine.payment_reference not in client.get(ADDRESS).text


def test_nobody_else_sees_it(client: Client, simulator: GatewaySimulator) -> None:
    assert client.get(ADDRESS).status_code == 302
    client.force_login(get_user_model().objects.create_user("c", "c@example.com", "correct horse"))
    assert client.get(ADDRESS).status_code == 403
    assert client.post(f"{ADDRESS}forget-keys/").status_code == 403


def test_the_page_is_sound_and_not_kept(operator: Client, simulator: GatewaySimulator) -> None:
    refunded(simulator, operation_in_state(OperationState.COMPLETED))
    page = operator.get(ADDRESS)
    content = page.text.partition('id="content"')[2]
    assert "no-store" in page.headers["Cache-Control"]
    assert "unsafe-inline" not in page.headers["Content-Security-Policy"]
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=", content)
    labels = re.findall(r'aria-label="([^"]+)"', content)
    assert len(labels) == len(set(labels)) > 3
    assert content.count("<form") == content.count("csrfmiddlewaretoken") > 3


def press(client: Client, name: str, about: str = "", account: str = "") -> Any:
    return client.post(f"{ADDRESS}{name}/", {"about": about, "account": account}, follow=True)


def test_each_button_does_what_it_says(operator: Client, simulator: GatewaySimulator) -> None:
    operation = operation_in_state(OperationState.COMPLETED)
    made = refunded(simulator, operation, status="pending")
    charge = operation.payment_reference
    assert ACTIONS["settle-refund"].done in press(operator, "settle-refund", made["id"]).text
    assert simulator.refunds()[0]["status"] == "succeeded"
    press(operator, "fail-refund", made["id"])
    assert simulator.refunds()[0]["failure_reason"] == "expired_or_canceled_card"
    press(operator, "refund", charge)
    assert simulator.refunds()[1]["amount"] == 2 * operation.amount_minor_units
    press(operator, "lose-answer", charge)
    assert simulator.control("GET", "faults")["armed"][0]["charge"] == charge
    press(operator, "forget-keys")
    page = press(operator, "dispute", charge)
    assert simulator.charges()[0]["disputed"] is True
    assert "<strong>disputed</strong>" in page.text


def test_what_the_provider_refuses_is_told(operator: Client, simulator: GatewaySimulator) -> None:
    operation = operation_in_state(OperationState.COMPLETED)
    seed(simulator, operation)
    press(operator, "dispute", operation.payment_reference)
    page = press(operator, "refund", operation.payment_reference)
    assert "The provider did not do it" in page.text
    assert simulator.refunds() == []


def test_a_button_while_the_provider_is_down_does_nothing(operator: Client, settings: Any) -> None:
    settings.DEMO_GATEWAY_URL = "http://127.0.0.1:1"
    answer = operator.post(f"{ADDRESS}forget-keys/")
    assert answer.status_code == 302
    assert "nothing was done" in operator.get(ADDRESS).text


@pytest.mark.parametrize(
    ("name", "about", "account"),
    [
        ("explode", "re_1", ""),
        ("fail-refund", "", ""),
        ("fail-refund", "../log", ""),
        ("refund", "ch_1", "x y"),
    ],
)
def test_anything_else_is_not_found(
    operator: Client, simulator: GatewaySimulator, name: str, about: str, account: str
) -> None:
    assert press(operator, name, about, account).status_code == 404


def test_a_button_needs_its_token_and_a_post(simulator: GatewaySimulator, operator: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = operator.cookies
    assert strict.post(f"{ADDRESS}forget-keys/").status_code == 403
    assert operator.get(f"{ADDRESS}forget-keys/").status_code == 405
    assert operator.post(ADDRESS).status_code == 405


def test_the_number_of_queries_does_not_grow_with_payments(
    operator: Client, simulator: GatewaySimulator, django_assert_max_num_queries: Any
) -> None:
    for _ in range(4):
        refunded(simulator, operation_in_state(OperationState.COMPLETED))
    with django_assert_max_num_queries(30):
        assert len(rows(operator.get(ADDRESS))) == 4


@pytest.mark.parametrize("mode", ["0", "1"])
def test_the_address_exists_in_the_demo_alone(mode: str) -> None:
    code = (
        "import django; django.setup(); from django.urls import resolve, Resolver404\n"
        "try: print(resolve('/demo/provider/').view_name)\nexcept Resolver404: print('none')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"DEMO_MODE": mode, "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [{"0": "none", "1": "demo:provider"}[mode]]


@pytest.mark.urls("config.urls")
def test_outside_the_demo_there_is_no_such_page() -> None:
    with pytest.raises(Resolver404):
        resolve(ADDRESS)
