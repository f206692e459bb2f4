"""The pages of house texts."""

from policies.states import DocumentState
from tests.browser.pages.place import Place
from tests.factories import make_house_text

LIST = "/admin/review/knowledge/"


def _text(shop, state=DocumentState.UPLOADED):
    return make_house_text(merchant=shop.merchant, state=state, metadata='{"source": "handbook 4.2"}')


def texts_empty(shop):
    return Place(LIST, shop.reviewer(), shows="There are no house texts yet.")


def texts(shop):
    for state in (DocumentState.UPLOADED, DocumentState.ACTIVE):
        make_house_text(merchant=shop.merchant, state=state, title=f"Duplicate charge {state}")
    return Place(LIST, shop.reviewer(), shows="2 texts")


def text_upload(shop):
    return Place(f"{LIST}new/", shop.reviewer(), shows="another wording is another text")


def text_upload_with_errors(shop):
    return Place(f"{LIST}new/", shop.reviewer(), send="Put it before a second person", shows="Write a title.")


def text_that_waits(shop):
    return Place(f"{LIST}{_text(shop).pk}/", shop.reviewer(), shows="Approve this text")


def text_in_use(shop):
    text = _text(shop, DocumentState.ACTIVE)
    return Place(f"{LIST}{text.pk}/", shop.reviewer(), shows="Retire this text")


def text_approve(shop):
    return Place(f"{LIST}{_text(shop).pk}/approve/", shop.reviewer(), shows="They decide nothing.")


def text_reject_with_errors(shop):
    path = f"{LIST}{_text(shop).pk}/reject/"
    return Place(path, shop.reviewer(), send="Reject this text", shows="Write a note")
