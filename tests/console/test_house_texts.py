"""The pages of house texts: read by a merchant's staff, uploaded by one who may, decided by another, refused as what it is."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger.models import StaffMembership
from policies.models import KnowledgeDocument
from policies.states import DocumentState
from refunds.models import Proposal
from refunds.states import WorkflowState
from tests.console.conftest import superuser, ticket_of
from tests.factories import (
    NOW,
    make_duplicate_order,
    make_house_text,
    make_merchant,
    make_staff,
    make_user,
    move_workflow,
    workflow_in_state,
)
from tests.factories.house_texts import BODY, TITLE, approval_of, decide, upload

pytestmark = pytest.mark.django_db
LIST = "/admin/review/knowledge/"
NEW = f"{LIST}new/"
PAGES = ("", "approve/", "reject/", "retire/")


def at(document, more=""):
    return f"{LIST}{document.pk}/{more}"


def typed(merchant, /, **changes):
    return {"merchant": merchant.pk, "title": TITLE, "body": BODY, "language": "en", "metadata": ""} | changes


def post(client, document, name, **changes):
    entered = {"fingerprint": approval_of(document).request_fingerprint, "note": "Read it."} | changes
    return client.post(at(document, f"{name}/"), entered)


def state_of(document):
    return KnowledgeDocument.objects.get(pk=document.pk).state


def test_an_empty_list_says_so_and_how_to_begin(as_reviewer):
    page = as_reviewer.get(LIST)
    assert "There are no house texts yet." in page.text
    assert f'href="{NEW}"' in page.text
    assert f'href="{LIST}">House texts</a>' in as_reviewer.get("/admin/review/").text


def test_the_list_shows_what_waits_first(as_reviewer, merchant):
    titles = {state: f"Duplicate charge {state}" for state in DocumentState}
    for state in (
        DocumentState.RETIRED,
        DocumentState.ACTIVE,
        DocumentState.UPLOADED,
        DocumentState.REJECTED,
    ):
        make_house_text(merchant=merchant, state=state, title=titles[state])
    make_house_text(title="Somebody else's")
    page = as_reviewer.get(LIST)
    assert [row.title for row, _ in page.context["lines"]] == [
        titles[DocumentState.UPLOADED], titles[DocumentState.ACTIVE], titles[DocumentState.REJECTED], titles[DocumentState.RETIRED],
    ]  # fmt: skip
    assert "4 texts: what waits first" in page.text
    assert "Waits for a second person" in page.text
    assert "Somebody" not in page.text


@pytest.mark.parametrize("asked", ["0", "-1", "2", "99", "x", "9" * 40, "١"])
def test_the_list_has_pages_and_none_that_fail(as_reviewer, merchant, monkeypatch, asked):
    monkeypatch.setattr("refunds.selectors.house_texts.PAGE_SIZE", 1)
    for number in range(2):
        upload(merchant=merchant, title=f"Text {number}")
    page = as_reviewer.get(LIST, {"page": asked})
    assert page.status_code == 200
    assert len(page.context["lines"]) == 1
    assert f"Page {'2' if asked in {'2', '99'} else '1'} of 2" in page.text


def test_pages_cost_the_same_queries_however_much_there_is(as_reviewer, merchant):
    counts = []
    for body in ("One.", "\n\n".join(["Paragraph."] * 9)):
        for number in range(3):
            text = make_house_text(merchant=merchant, title=f"Duplicate charge {number}", body=body)
        for address in (LIST, at(text)):
            with CaptureQueriesContext(connection) as seen:
                as_reviewer.get(address)
            counts.append(len(seen))
    assert counts[:2] == counts[2:]
    assert max(counts) <= 10


def test_a_text_is_uploaded_shown_and_waits(as_reviewer, reviewer, merchant):
    page = as_reviewer.get(NEW)
    assert "at most 300" in page.text.casefold().replace("paragraphs of ", "")
    answer = as_reviewer.post(
        NEW, typed(merchant, metadata='{"source": "handbook <4>", "Tenant": "x"}'), follow=True
    )
    stored = KnowledgeDocument.objects.get()
    assert (stored.merchant_id, stored.uploaded_by) == (merchant.pk, f"user:{reviewer.pk}")
    assert answer.redirect_chain == [(at(stored), 302)]
    for shown in (
        TITLE, BODY, "handbook &lt;4&gt;", stored.content_sha256, "Waits for a second person", "names are the desk&#x27;s own: Tenant",
        "You uploaded this text, so somebody else must decide about it.",
    ):  # fmt: skip
        assert shown in answer.text
    assert "Approve this text" not in answer.text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"title": ""}, "Write a title."),
        ({"title": "x" * 81}, "Use at most 80 characters."),
        ({"body": ""}, "Write the text."),
        ({"body": "x" * 301}, "Paragraph 1 has 301 characters."),
        ({"body": "Say\u200b it."}, "characters that cannot be seen"),
        ({"body": "a\x00b"}, "Null characters are not allowed."),
        ({"language": "xx"}, "Choose a language."),
        ({"language": ""}, "Choose a language."),
        ({"metadata": "{"}, "Write one JSON object"),
        ({"metadata": '{"a": 1, "a": 2}'}, "A name stands there twice"),
        ({"metadata": '{"a": NaN}'}, "Use whole numbers"),
        ({"metadata": '{"a": {}}'}, "no list and no object"),
        ({"metadata": "[" * 1900}, "Write one JSON object"),
        ({"metadata": '{"a": "' + "x" * 2000 + '"}'}, "Use at most 2000 characters."),
        ({"merchant": ""}, "Choose a merchant."),
    ],
)
def test_what_cannot_be_stored_comes_back_with_its_reason(as_reviewer, merchant, changes, said):
    answer = as_reviewer.post(NEW, typed(merchant, **changes))
    assert answer.status_code == 422
    assert "There is a problem" in answer.text
    assert said in answer.text
    assert KnowledgeDocument.objects.count() == 0


@pytest.mark.parametrize("field", ["title", "body", "metadata"])
@pytest.mark.parametrize("beside", [{}, {"language": "xx"}, {"title": ""}, {"body": "\x00"}])
def test_card_data_is_refused_and_does_not_come_back(as_reviewer, merchant, field, beside):
    card = "4242 4242 4242 4242"
    text = f'{{"a": "{card}"}}' if field == "metadata" else f"Card {card}."
    answer = as_reviewer.post(NEW, typed(merchant) | beside | {field: text})
    assert answer.status_code == 422
    assert "looks like a card number" in answer.text
    assert card not in answer.text
    assert "[card number removed]" in answer.text


def test_a_long_refused_text_comes_back_whole(as_reviewer, merchant):
    body = "\n\n".join([*(["A good paragraph, " * 10] * 20), "The last one."])
    answer = as_reviewer.post(NEW, typed(merchant, body=body, language="xx"))
    assert "The last one." in answer.text


def test_the_same_text_twice_is_told_and_stored_once(as_reviewer, merchant):
    assert as_reviewer.post(NEW, typed(merchant)).status_code == 302
    again = as_reviewer.post(NEW, typed(merchant))
    assert again.status_code == 409
    assert "waits for a decision or is in use already" in again.text
    assert KnowledgeDocument.objects.count() == 1


def test_somebody_who_works_for_two_merchants_says_for_which(as_reviewer, reviewer, merchant):
    other, read_only = make_merchant(name="Second"), make_merchant(name="Read only")
    StaffMembership.objects.create(merchant=other, user=reviewer, can_approve=True)
    StaffMembership.objects.create(merchant=read_only, user=reviewer, can_approve=False)
    page = as_reviewer.get(NEW)
    assert "Second" in page.text
    assert "Read only" not in page.text
    assert as_reviewer.post(NEW, typed(read_only)).status_code == 422
    assert as_reviewer.post(NEW, typed(other)).status_code == 302
    assert KnowledgeDocument.objects.get().merchant_id == other.pk


def test_a_second_person_reads_it_all_again_and_approves(as_reviewer, reviewer, merchant):
    document = upload(merchant=merchant, metadata='{"source": "handbook"}')
    shown = as_reviewer.get(at(document))
    assert "Approve this text…" in shown.text
    confirm = as_reviewer.get(at(document, "approve/"))
    fingerprint = approval_of(document).request_fingerprint
    for words in (TITLE, BODY, "handbook", "They decide nothing.", f"{fingerprint[:4]} {fingerprint[4:8]}"):
        assert words in confirm.text
    assert f'name="fingerprint" value="{fingerprint}"' in confirm.text
    answer = post(as_reviewer, document, "approve", note="Read <b>twice</b>.")
    assert (answer.status_code, answer["Location"]) == (302, at(document))
    page = as_reviewer.get(at(document))
    assert "Approved: the text is in use." in page.text
    assert "Read &lt;b&gt;twice&lt;/b&gt;." in page.text
    assert reviewer.get_username() in page.text
    assert "Retire this text…" in page.text
    assert state_of(document) == "ACTIVE"


def test_a_rejection_needs_a_note(as_reviewer, merchant):
    document = upload(merchant=merchant)
    bare = post(as_reviewer, document, "reject", note=" ")
    assert bare.status_code == 422
    assert "a rejection needs its reason in words" in bare.text
    assert state_of(document) == "UPLOADED"
    assert post(as_reviewer, document, "reject").status_code == 302
    assert state_of(document) == "REJECTED"
    assert "Decision" not in as_reviewer.get(at(document)).text


def test_anybody_who_may_retires_a_text(as_reviewer, reviewer, merchant):
    document = decide(upload(merchant=merchant, uploader=reviewer), make_staff(merchant=merchant))
    assert "stays readable" in as_reviewer.get(at(document, "retire/")).text
    assert post(as_reviewer, document, "retire", note="").status_code == 302
    assert state_of(document) == "RETIRED"
    assert BODY in as_reviewer.get(at(document)).text


@pytest.mark.failure("F103")
def test_the_uploader_decides_nothing(as_reviewer, reviewer, merchant):
    document = upload(merchant=merchant, uploader=reviewer)
    for name in ("approve", "reject"):
        for answer in (as_reviewer.get(at(document, f"{name}/")), post(as_reviewer, document, name)):
            assert answer.status_code == 409
            assert "You uploaded this text" in answer.text
            assert "Nothing was changed." in answer.text
    assert state_of(document) == "UPLOADED"


@pytest.mark.failure("F107")
@pytest.mark.parametrize("name", ["approve", "reject", "retire"])
@pytest.mark.parametrize("state", [DocumentState.REJECTED, DocumentState.RETIRED])
def test_what_ended_while_somebody_looked_is_told(as_reviewer, merchant, state, name):
    document = make_house_text(merchant=merchant, state=state)
    answer = post(as_reviewer, document, name)
    assert answer.status_code == 409
    assert "Nothing was changed." in answer.text
    assert state_of(document) == state


@pytest.mark.failure("F111")
@pytest.mark.parametrize("fingerprint", ["", "0" * 64, "x" * 65, "\x00"])
def test_a_fingerprint_that_was_not_shown_approves_nothing(as_reviewer, merchant, fingerprint):
    document = upload(merchant=merchant)
    answer = post(as_reviewer, document, "approve", fingerprint=fingerprint)
    assert answer.status_code in {409, 422}
    assert state_of(document) == "UPLOADED"


@pytest.mark.failure("F113")
def test_who_may_only_read_sees_the_text_and_no_button(client, merchant):
    client.force_login(make_staff(merchant=merchant, can_approve=False))
    document = upload(merchant=merchant)
    page = client.get(at(document))
    assert BODY in page.text
    assert "You may read house texts of this merchant" in page.text
    assert "Approve this text" not in page.text
    assert NEW not in client.get(LIST).text
    for send in (client.get, client.post):
        assert send(NEW).status_code == 403
        for name in ("approve", "reject", "retire"):
            assert send(at(document, f"{name}/")).status_code == 403
    assert state_of(document) == "UPLOADED"


@pytest.mark.failure("F099")
@pytest.mark.failure("F100")
@pytest.mark.failure("F098")
@pytest.mark.parametrize("state", list(DocumentState))
def test_a_foreign_text_and_a_missing_one_get_the_same_answer(client, merchant, state):
    document = make_house_text(merchant=merchant, state=state)
    client.force_login(make_staff(merchant=make_merchant()))
    for more in PAGES:
        foreign, missing = client.get(at(document, more)), client.get(f"{LIST}kd_{'0' * 26}/{more}")
        assert (foreign.status_code, missing.status_code) == (404, 404)
        assert foreign.content == missing.content
    assert TITLE not in client.get(LIST).text


def test_who_works_nowhere_and_who_is_no_staff_see_none_of_it(client, merchant):
    document = upload(merchant=merchant)
    for address in (LIST, NEW, *(at(document, more) for more in PAGES)):
        assert client.get(address).status_code == 302
    for user in (superuser(), make_user()):
        client.force_login(user)
        for address in (LIST, NEW, *(at(document, more) for more in PAGES)):
            assert client.get(address).status_code == 403
            assert client.post(address, typed(merchant)).status_code in {403, 405}
    assert state_of(document) == "UPLOADED"


def test_a_form_without_its_token_changes_nothing(client, reviewer, merchant):
    document = upload(merchant=merchant)
    strict = type(client)(enforce_csrf_checks=True)
    strict.force_login(reviewer)
    assert strict.post(NEW, typed(merchant, title="Other")).status_code == 403
    for name in ("approve", "reject", "retire"):
        assert post(strict, document, name).status_code == 403
    assert state_of(document) == "UPLOADED"
    assert KnowledgeDocument.objects.count() == 1


TEXTS = (
    "\x00", "a\x00b", "\u202edrow", "\u200b", "\ufffd", "x" * 20_000, "9" * 5000, "NaN", "{{ 7 }}", "\ud800",
    "<script>alert(1)</script>", "4242424242424242",
)  # fmt: skip


@pytest.mark.failure("F136")
@pytest.mark.failure("F141")
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_no_field_makes_a_fault(as_reviewer, merchant, text):
    as_reviewer.raise_request_exception = True
    document = upload(merchant=merchant)
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    for field in ("merchant", "title", "body", "language", "metadata"):
        answer = as_reviewer.post(NEW, typed(merchant, **{field: text}))
        assert answer.status_code in {302, 409, 422}, field
        assert "4242424242424242" not in answer.text, field
        assert "<script>alert" not in answer.text
    for name in ("approve", "reject", "retire"):
        for field in ("note", "fingerprint"):
            known = {"fingerprint": "0" * 64} if field == "note" else {}
            answer = post(as_reviewer, document, name, **known | {field: text})
            assert answer.status_code in {409, 422}, (name, field)
    assert state_of(document) == "UPLOADED"


@pytest.mark.parametrize(
    "forged", ["0", "kd_", "kd_%00", "%ff", "..%2f", "9" * 5000, "new%2f", "%E2%80%AE", "' OR 1=1"]
)
def test_a_forged_id_is_no_page_and_no_fault(as_reviewer, forged):
    for more in PAGES:
        for send in (as_reviewer.get, as_reviewer.post):
            assert send(f"{LIST}{forged}/{more}").status_code in {400, 404, 405}


def test_every_page_answers_to_every_method_and_shape_without_a_fault(as_reviewer, merchant):
    document = upload(merchant=merchant)
    for address in (LIST, NEW, *(at(document, more) for more in PAGES)):
        for method in ("get", "head", "put", "patch", "delete", "options", "trace"):
            assert getattr(as_reviewer, method)(address).status_code < 500
        for body, kind in (
            (b"{", "application/json"),
            (b"\xff\xfe", "application/x-www-form-urlencoded"),
            (b"body=" + b"x" * 5_000_000, "application/x-www-form-urlencoded"),
            (b"&".join(b"a%d=1" % n for n in range(200)), "application/x-www-form-urlencoded"),
            (b"--x\r\n", "multipart/form-data; boundary=x"),
            (b"", "multipart/form-data"),
        ):
            assert 400 <= as_reviewer.generic("POST", address, body, content_type=kind).status_code < 500
    assert state_of(document) == "UPLOADED"


def test_no_page_holds_code_or_markup_that_somebody_uploaded(as_reviewer, merchant):
    document = upload(
        merchant=merchant, title="<img src=x onerror=alert(1)>", body="<script>alert(1)</script>\n{% load static %}",
        metadata='{"source": "<b onclick=x>"}',
    )  # fmt: skip
    for address in (LIST, *(at(document, more) for more in PAGES[:3])):
        page = as_reviewer.get(address)
        assert "script-src 'self'" in page["Content-Security-Policy"]
        for markup in ("<img src=x", "<script>alert", "<b onclick", " style=", "<style"):
            assert markup not in page.text


def test_nothing_that_was_typed_reaches_the_log(
    as_reviewer, merchant, caplog, django_capture_on_commit_callbacks
):
    as_reviewer.post(
        NEW, typed(merchant, title="Zeisig title", body="Zeisig body.", metadata='{"a": "zeisig"}')
    )
    as_reviewer.post(NEW, typed(merchant, title="Zeisig 4242 4242 4242 4242"))
    document = upload(merchant=merchant)
    with django_capture_on_commit_callbacks(execute=True):
        post(as_reviewer, document, "approve", note="Zeisig note.")
    said = " ".join(record.getMessage() for record in caplog.records)
    assert "knowledge_document.active" in said
    assert "zeisig" not in said.casefold()


def test_a_case_shows_outside_its_evidence_which_texts_a_model_was_given(as_reviewer, merchant):
    order = make_duplicate_order(customer__merchant=merchant).order
    workflow = workflow_in_state(WorkflowState.EVIDENCE_VERIFIED, order=order)
    text = make_house_text(merchant=merchant, title="Wording <1>", state=DocumentState.RETIRED)
    named = {"document": text.pk, "content_sha256": text.content_sha256, "paragraph": 1}
    Proposal.objects.create(
        workflow=workflow, command_number=workflow.command_number, proposer="model-1", output_class="VALID",
        documents=[named], at=NOW,
    )  # fmt: skip
    move_workflow(workflow, WorkflowState.MANUAL_REVIEW)
    page = as_reviewer.get(f"/admin/review/{ticket_of(workflow)}/").text
    start = page.index('<section aria-labelledby="not-evidence"')
    end = page.index("</section>", start)
    assert f'<a href="{at(text)}">Wording &lt;1&gt;</a>, paragraph 1' in page[start:end]
    assert text.content_sha256[:12] in page[start:end]
    assert text.pk not in page[:start] + page[end:]
