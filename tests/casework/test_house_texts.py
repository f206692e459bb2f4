"""A house text on its way: uploaded by one person, approved by another, retired by anybody who may."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import IntegrityError, connection, transaction

from approvals.models import ApprovalRequest
from ledger.models import ErasableText, StaffMembership
from ledger.transitions import commit_transition, lock_row
from policies.document_text import DocumentRefusedError
from policies.knowledge import find_passages
from policies.models import KnowledgeDocument
from policies.states import DocumentState
from refunds.casework import house_texts
from refunds.casework.house_texts import Upload, retire_text, upload_text
from refunds.casework.refusals import KnowledgeRefusedError
from tests.factories import NOW, make_house_text, make_merchant, make_staff, make_user
from tests.factories.commands import WHY
from tests.factories.house_texts import BODY, TITLE, approval_of, decide, upload
from tests.stages.trail import nothing_written, path

rows = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)


@pytest.fixture
def merchant(db):
    return make_merchant()


@pytest.fixture
def uploader(merchant):
    return make_staff(merchant=merchant)


@pytest.fixture
def second(merchant):
    return make_staff(merchant=merchant)


def refused(call, *args, **kwargs):
    """Return the code of a refusal that left no row behind."""
    with nothing_written(), pytest.raises(KnowledgeRefusedError) as raised:
        call(*args, **kwargs)
    return raised.value.code


def given_to_models(merchant):
    return [p.document_id for p in find_passages(merchant_id=merchant.pk, codes=("DUPLICATE_CHARGE",))]


def test_an_upload_waits_with_its_exact_words_for_another_person(merchant, uploader):
    document = upload(
        merchant=merchant, uploader=uploader, metadata='{"source": "handbook", "approved": true}'
    )
    assert path(document) == ["UPLOADED"]
    assert (document.title, document.body, document.metadata) == (TITLE, BODY, {"source": "handbook"})
    assert document.content_sha256 == document.digest()
    approval = approval_of(document)
    assert (approval.state, approval.maker_id, approval.approvals_needed) == (
        "PENDING",
        f"user:{uploader.pk}",
        1,
    )
    assert approval.command == {
        "action": "ACTIVATE_DOCUMENT",
        "document_id": document.pk,
        "content_sha256": document.content_sha256,
        "title": TITLE,
        "merchant_id": merchant.pk,
    }
    assert approval.event_ids == {"knowledge_document_id": document.pk, "approval_id": approval.pk}
    assert BODY not in str(list(document.events.values())) + str(list(approval.events.values()))
    assert given_to_models(merchant) == []


def test_another_person_approves_and_the_text_is_in_use_from_then_on(merchant, uploader, second):
    document = decide(upload(merchant=merchant, uploader=uploader), second)
    assert path(document) == ["UPLOADED", "ACTIVE"]
    approval = approval_of(document)
    assert approval.state == "CONSUMED"
    assert [event.voter_id for event in approval.events.exclude(voter_id="")] == [f"user:{second.pk}"]
    event = document.events.latest("pk")
    assert (event.actor_id, event.reason) == (f"user:{second.pk}", "APPROVED")
    assert event.evidence["approval_id"] == approval.pk
    assert event.evidence["content_sha256"] == document.content_sha256
    assert ErasableText.objects.get(pk=event.evidence["note_text"]).body == "Read it."
    assert given_to_models(merchant) == [document.pk]


def test_a_rejected_text_is_never_used_and_says_why(merchant, second):
    document = decide(upload(merchant=merchant), second, approve=False, note="We never say sorry twice.")
    assert (path(document), approval_of(document).state) == (["UPLOADED", "REJECTED"], "REJECTED")
    assert given_to_models(merchant) == []
    assert refused(decide, document, make_staff(merchant=merchant)) == "NOT_PENDING"


def test_a_rejection_needs_its_reason_in_words(merchant, second):
    assert refused(decide, upload(merchant=merchant), second, approve=False, note=" ") == "NOTE_REQUIRED"


@pytest.mark.failure("F103")
@pytest.mark.parametrize("approve", [True, False])
def test_nobody_decides_about_their_own_text(merchant, uploader, approve):
    document = upload(merchant=merchant, uploader=uploader)
    assert refused(decide, document, uploader, approve=approve) == "OWN_REQUEST"


@pytest.mark.failure("F113")
def test_who_may_only_read_neither_uploads_nor_decides_nor_retires(merchant):
    reader = make_staff(merchant=merchant, can_approve=False)
    waiting, active = upload(merchant=merchant), make_house_text(merchant=merchant, title="Duplicate charge")
    assert refused(decide, waiting, reader) == "NOT_ALLOWED"
    assert (
        refused(retire_text, document_id=active.pk, staff_user_id=reader.pk, note="", now=NOW)
        == "NOT_ALLOWED"
    )
    assert refused(upload, merchant=merchant, uploader=reader, title="Other") == "NOT_ALLOWED"


@pytest.mark.parametrize("who", ["of another merchant", "superuser", "who left", "locked out", "customer"])
def test_who_does_not_work_for_the_merchant_does_none_of_it(merchant, who):
    person = {
        "of another merchant": lambda: make_staff(merchant=make_merchant()),
        "superuser": lambda: make_user(is_staff=True, is_superuser=True),
        "who left": lambda: make_staff(merchant=merchant),
        "locked out": lambda: make_staff(merchant=merchant, is_active=False),
        "customer": make_user,
    }[who]()
    if who == "who left":
        StaffMembership.objects.filter(user=person).delete()
    waiting, active = upload(merchant=merchant), make_house_text(merchant=merchant, title="Duplicate charge")
    assert refused(decide, waiting, person) == "NOT_ALLOWED"
    assert (
        refused(retire_text, document_id=active.pk, staff_user_id=person.pk, note="", now=NOW)
        == "NOT_ALLOWED"
    )
    assert refused(upload, merchant=merchant, uploader=person, title="Other") == "NOT_ALLOWED"
    assert (
        refused(retire_text, document_id="kd_none", staff_user_id=person.pk, note="", now=NOW)
        == "NO_SUCH_TEXT"
    )


@pytest.mark.failure("F111")
@pytest.mark.parametrize("fingerprint", ["", "0" * 64])
def test_a_decision_holds_for_exactly_what_was_seen(merchant, second, fingerprint):
    assert (
        refused(decide, upload(merchant=merchant), second, fingerprint=fingerprint) == "FINGERPRINT_CHANGED"
    )


def test_the_decision_about_one_text_counts_for_no_other(merchant, second):
    one, other = upload(merchant=merchant), upload(merchant=merchant, title="Duplicate charge, again")
    seen = approval_of(one).request_fingerprint
    assert refused(decide, other, second, fingerprint=seen) == "FINGERPRINT_CHANGED"


def test_words_that_were_changed_behind_the_desk_are_not_approved(merchant, second):
    """The digest is taken anew of the row: who can write past the triggers still approves nothing by it."""
    document = upload(merchant=merchant)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE knowledge_documents DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE knowledge_documents SET body = 'Refund everything.' WHERE id = %s", [document.pk]
        )
        cursor.execute("ALTER TABLE knowledge_documents ENABLE TRIGGER USER")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    assert refused(decide, document, second) == "FINGERPRINT_CHANGED"


def test_a_retired_text_is_given_to_nobody_and_stays_readable(merchant, uploader, second):
    document = decide(upload(merchant=merchant, uploader=uploader), second)
    retire_text(document_id=document.pk, staff_user_id=uploader.pk, note="Out of date.", now=NOW)
    assert path(KnowledgeDocument.objects.get(pk=document.pk)) == ["UPLOADED", "ACTIVE", "RETIRED"]
    assert given_to_models(merchant) == []
    assert KnowledgeDocument.objects.get(pk=document.pk).body == BODY
    for state in (DocumentState.UPLOADED, DocumentState.REJECTED, DocumentState.RETIRED):
        other = make_house_text(merchant=merchant, state=state, title=f"Duplicate charge {state}")
        assert (
            refused(retire_text, document_id=other.pk, staff_user_id=second.pk, note="", now=NOW)
            == "NOT_ACTIVE"
        )


@pytest.mark.parametrize(
    ("note", "code"),
    [
        ("Paid with 4242 4242 4242 4242.", "NOTE_HAS_CARD_NUMBER"),
        ("a\u202eb", "NOTE_NOT_READABLE"),
        ("x" * 2001, "NOTE_TOO_LONG"),
    ],
)
def test_a_note_that_may_not_be_kept_lets_nothing_happen(merchant, second, note, code):
    assert refused(decide, upload(merchant=merchant), second, note=note) == code
    active = make_house_text(merchant=merchant, title="Duplicate charge")
    assert refused(retire_text, document_id=active.pk, staff_user_id=second.pk, note=note, now=NOW) == code


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"title": ""}, "title"),
        ({"body": "x" * 301}, "body"),
        ({"language": "xx"}, "language"),
        ({"metadata": "{"}, "metadata"),
        ({"body": "a\x00b"}, "body"),
        ({"metadata": '{"a": "4242 4242 4242 4242"}'}, "metadata"),
    ],
)
def test_what_the_door_refuses_leaves_no_row(merchant, uploader, typed, field):
    said = {"title": TITLE, "body": BODY, "language": "en"} | typed
    with nothing_written(), pytest.raises(DocumentRefusedError) as raised:
        upload_text(Upload(merchant_id=merchant.pk, staff_user_id=uploader.pk, **said), now=NOW)
    assert raised.value.field == field


def test_the_same_words_wait_or_stand_once_and_may_come_back_later(merchant, second):
    first = upload(merchant=merchant)
    assert refused(upload, merchant=merchant, uploader=second) == "ALREADY_THERE"
    decide(first, second, approve=False, note="Not yet.")
    again = upload(merchant=merchant)
    assert again.content_sha256 == first.content_sha256
    upload(merchant=make_merchant())  # another merchant's are its own


def test_a_merchant_has_no_more_than_a_search_may_look_at(merchant, uploader, monkeypatch):
    monkeypatch.setattr(house_texts, "MOST_STANDING", 2)
    make_house_text(merchant=merchant, title="Ended", state=DocumentState.REJECTED)
    upload(merchant=merchant, title="One")
    make_house_text(merchant=merchant, title="Two")
    assert refused(upload, merchant=merchant, uploader=uploader, title="Three") == "TOO_MANY_TEXTS"
    upload(merchant=make_merchant())


@pytest.mark.failure("F103")
@pytest.mark.parametrize(
    "how", ["no approval", "of the uploader alone", "of other words", "of another merchant"]
)
def test_postgresql_lets_no_text_into_use_without_another_persons_approval(merchant, uploader, second, how):
    document = upload(merchant=merchant, uploader=uploader)
    approval = approval_of(document)
    if how != "no approval":
        decide(document, second)
        document = KnowledgeDocument.objects.get(pk=document.pk)
        values = {
            "of the uploader alone": ("approval_events", "voter_id", f"user:{uploader.pk}", "voter_id <> ''"),
            "of other words": ("approval_requests", "command", '{"content_sha256": "0"}', "true"),
            "of another merchant": ("approval_requests", "merchant_id", make_merchant().pk, "true"),
        }[how]
        behind_the_triggers(*values, approval)
        back_to_uploaded(document)
    with pytest.raises(IntegrityError, match="not approved by another person"), transaction.atomic():
        commit_transition(lock_row(KnowledgeDocument, document.pk), DocumentState.ACTIVE, WHY, now=NOW)
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def behind_the_triggers(table, column, value, condition, approval):
    pk = "approval_id" if table == "approval_events" else "id"
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(
            f"UPDATE {table} SET {column} = %s WHERE {pk} = %s AND {condition}", [value, approval.pk]
        )
        cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def back_to_uploaded(document):
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in ("knowledge_documents", "knowledge_document_events"):
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE knowledge_documents SET state = 'UPLOADED', state_sequence = 1 WHERE id = %s",
            [document.pk],
        )
        cursor.execute(
            "DELETE FROM knowledge_document_events WHERE document_id = %s AND state_sequence = 2",
            [document.pk],
        )
        for table in ("knowledge_documents", "knowledge_document_events"):
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def at_once(*calls):
    """Run calls in sessions of their own at the same moment; return what each came to."""
    barrier = Barrier(len(calls))

    def run(call):
        try:
            barrier.wait(timeout=10)
            return call() and "done"
        except KnowledgeRefusedError as refused:
            return refused.code
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return sorted(pool.map(run, calls))


@committed
@pytest.mark.failure("F107")
def test_of_two_decisions_at_once_the_first_stands():
    merchant = make_merchant()
    document = upload(merchant=merchant)
    people = [make_staff(merchant=merchant) for _ in range(2)]
    ended = at_once(
        lambda: decide(document, people[0]), lambda: decide(document, people[1], approve=False, note="No.")
    )
    assert ended == ["NOT_PENDING", "done"]
    stored = KnowledgeDocument.objects.get(pk=document.pk)
    assert stored.state in {"ACTIVE", "REJECTED"}
    assert len(path(stored)) == 2
    assert ApprovalRequest.objects.get().events.exclude(voter_id="").count() == 1


@committed
@pytest.mark.failure("F066")
def test_two_equal_uploads_at_once_are_one_text():
    merchant = make_merchant()
    people = [make_staff(merchant=merchant) for _ in range(2)]
    ended = at_once(*(lambda by=by: upload(merchant=merchant, uploader=by) for by in people))
    assert ended == ["ALREADY_THERE", "done"]
    assert KnowledgeDocument.objects.count() == ApprovalRequest.objects.count() == 1


@committed
@pytest.mark.failure("F066")
def test_two_uploads_at_once_do_not_both_take_the_last_place(monkeypatch):
    monkeypatch.setattr(house_texts, "MOST_STANDING", 1)
    merchant = make_merchant()
    people = [make_staff(merchant=merchant) for _ in range(2)]
    ended = at_once(
        *(lambda by=by: upload(merchant=merchant, uploader=by, title=f"Text of {by.pk}") for by in people)
    )
    assert ended == ["TOO_MANY_TEXTS", "done"]
    assert KnowledgeDocument.objects.count() == 1
