"""Everything a browser can be made to send to the pages where people work: refused as what it is, and never a fault."""

import pytest

from approvals.models import ApprovalRequest, ReviewCase
from refunds.models import RefundOperation
from refunds.states import OperationState
from tests.console.conftest import look, ticket_of
from tests.console.operation_pages import at, entered
from tests.factories import make_staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("operation_nudges")]
CARD = "4242424242424242"
PAGES = (
    "", "approve/", "reject/", "claim/", "release/", "read-again/", "rebuild/", "close/", "close-completed/",
    "books/", "look-up/{o}/", "reference/{o}/", "give-up/{o}/", "confirm/{a}/", "decline/{a}/",
)  # fmt: skip
TEXTS = (
    "\x00", "a\x00b", "\u202edrow", "\u200b", "\ufffd", "x" * 20_000, "9" * 5000, "0001-01-01T00:00+14:00",
    "9999-12-31T23:59-14:00", "NaN", "<script>alert(1)</script>", CARD,
)  # fmt: skip
FIELDS = (
    "reason_code", "note", "fingerprint", "source", "seen_at", "provider_reference", "words", "reference",
    "outcome", "seen", "csrfmiddlewaretoken",
)  # fmt: skip
SAID = {
    "reason_code": "PROVIDER_HAS_NO_REFUND", "note": "n", "fingerprint": "0" * 64, "source": "DASHBOARD",
    "seen_at": "2026-11-30T07:00", "provider_reference": "chat_7", "words": "nothing", "reference": "re_1",
    "outcome": "REJECTED",
}  # fmt: skip


@pytest.fixture
def desk(client, reviewer, merchant, operation):
    """A signed-in reviewer who holds the case, and a proposal of a colleague that waits."""
    colleague = make_staff(merchant=merchant)
    client.force_login(colleague)
    client.post(at(operation, "claim/"))
    assert client.post(at(operation, f"give-up/{operation.pk}/"), entered()).status_code == 302
    client.force_login(reviewer)
    client.post(at(operation, "claim/"))
    client.raise_request_exception = True
    return client


def proposal():
    return ApprovalRequest.objects.get(subject_kind="EVIDENCE")


def addresses(made):
    for path in PAGES:
        yield at(made, path.format(o=made.pk, a=proposal().pk))


def unchanged(made):
    stored = RefundOperation.objects.get(pk=made.pk)
    assert stored.state == OperationState.MANUAL_REVIEW
    assert proposal().state == "PENDING"


@pytest.mark.failure("F136")
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_field_of_any_dialog_makes_a_fault_or_frees_anything(desk, operation, text):
    everywhere = dict.fromkeys(FIELDS, text)
    for address in addresses(operation):
        answer = desk.post(address, everywhere)
        assert answer.status_code < 500, address
        desk.post(at(operation, "claim/"))
    confirm, name = at(operation, f"confirm/{proposal().pk}/"), at(operation, f"reference/{operation.pk}/")
    seen = proposal().request_fingerprint
    for address, field in (
        (confirm, "fingerprint"),
        (confirm, "reason_code"),
        (confirm, "note"),
        (name, "reference"),
        (name, "note"),
    ):
        known = "0" * 64 if field == "note" else seen  # a note that may be said must not confirm
        said = SAID | {"reason_code": "OTHER", "fingerprint": known, field: text}
        answer = desk.post(address, said)
        assert answer.status_code in {302, 409, 422}, (address, field)
        assert field == "fingerprint" or CARD not in answer.text, (address, field)
    unchanged(operation)


@pytest.mark.failure("F136")
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_evidence_that_is_typed_makes_a_fault(as_reviewer, operation, text):
    as_reviewer.post(at(operation, "claim/"))
    for field in ("source", "seen_at", "provider_reference", "words", "reason_code", "note"):
        said = entered(reason_code="OTHER") | {field: text}
        if field in {"words", "note"} and text in {"NaN", "\ufffd", "9" * 5000, "<script>alert(1)</script>"}:
            continue  # these may be said
        answer = as_reviewer.post(at(operation, f"give-up/{operation.pk}/"), said)
        assert answer.status_code in {302, 422}, field
        assert field == "seen_at" or CARD not in answer.text, field
        if answer.status_code == 302:  # a plain word is an id and a note like any other
            assert field in {"provider_reference", "note", "words"}
            return


def test_every_page_answers_to_every_method_and_shape_without_a_fault(desk, operation):
    for address in addresses(operation):
        for method in ("get", "head", "put", "patch", "delete", "options", "trace"):
            assert getattr(desk, method)(address).status_code < 500, (method, address)
        for seen in ("%00", "%ff", "x" * 5000, "%F0%9F", "&seen=1&seen=2"):
            assert desk.get(f"{address}?seen={seen}").status_code < 500
        for body, kind in (
            (b"{", "application/json"),
            (b"\xff\xfe", "application/x-www-form-urlencoded"),
            (b"note=" + b"x" * 5_000_000, "application/x-www-form-urlencoded"),
            (b"&".join(b"a%d=1" % n for n in range(200)), "application/x-www-form-urlencoded"),
            (b"note=1&note=2&reason_code=OTHER&reason_code=", "application/x-www-form-urlencoded"),
            (b"--x\r\n", "multipart/form-data; boundary=x"),
            (b"", "multipart/form-data"),
            (b"a=1", "application/x-www-form-urlencoded; charset=utf-7"),
        ):
            answer = desk.generic("POST", address, body, content_type=kind)
            assert answer.status_code < 500, (address, body[:20])
    unchanged(operation)


@pytest.mark.parametrize(
    "ticket", ["0", "-1", "9" * 18, "9" * 40, "9" * 5000, "%00", "1%00", "%D9%A1", "1e3", "../1"]
)
def test_a_forged_ticket_is_no_page_and_no_fault(as_reviewer, ticket):
    for path in ("", "books/", "claim/", "give-up/rfop_x/", "confirm/apr_x/"):
        for send in (as_reviewer.get, as_reviewer.post):
            assert send(f"/admin/review/{ticket}/{path}").status_code in {400, 404, 405}


def test_a_form_without_its_token_changes_nothing(client, desk, operation, reviewer):
    strict = type(client)(enforce_csrf_checks=True)
    strict.force_login(reviewer)
    for address in addresses(operation):
        refused = strict.post(address, SAID)
        assert refused.status_code in {403, 405}
        assert refused.status_code == 405 or "Go to the review queue" in refused.text
    unchanged(operation)
    assert ReviewCase.objects.get(ticket=ticket_of(operation.workflow)).claimed_by == f"user:{reviewer.pk}"


def test_whoever_may_not_work_here_finds_back(client, merchant, operation):
    client.force_login(make_staff(merchant=merchant, can_approve=False))
    refused = client.get(at(operation, f"give-up/{operation.pk}/"))
    missing = client.get(at(operation, "give-up/rfop_none/").replace(str(ticket_of(operation.workflow)), "1"))
    assert (refused.status_code, missing.status_code) == (403, 404)
    for answer in (refused, missing):
        assert 'href="/admin/review/"' in answer.text


def test_nothing_that_was_typed_reaches_the_log(desk, operation, caplog):
    look(operation)
    for address in addresses(operation):
        desk.post(address, SAID | {"note": "Jane Roe, +1 555 0100", "words": f"jane@example.com {CARD}"})
    said = " ".join(record.getMessage() for record in caplog.records)
    for secret in ("Jane", "555 0100", "example.com", CARD, "chat_7"):
        assert secret not in said
