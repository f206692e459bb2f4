"""The lists of refunds, and how far each is behind (docs.stripe.com/api-v2-overview; facts 3)."""

from typing import Any

from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.charges import get_charge
from config.demo.gateway_simulator.forms import Form, allow_only, integer
from config.demo.gateway_simulator.messages import missing
from config.demo.gateway_simulator.paging import MAX_PAGE, PARAMETERS, created_bounds, list_object, page
from config.demo.gateway_simulator.refund_objects import refund_object, shown_before


def list_refunds(book: Book, account: str, form: Form) -> dict[str, Any]:
    """Return one page, newest first; what is booked is listed at once.

    docs.stripe.com/api-v2-overview: top-level v1 lists are immediately consistent. An unknown charge is an
    error, not an empty list: docs.stripe.com/api/refunds/list.
    """
    allow_only(form, "charge", "payment_intent", *PARAMETERS)
    charges = [
        get_charge(book, account, form[param], param=param)
        for param in ("charge", "payment_intent")
        if param in form
    ]
    if book.settings.lag_list_seconds and charges:
        lag = book.settings.lag_list_seconds
        return page(shown_before(book, account, charges[0]["id"], lag_seconds=lag), form, url="/v1/refunds")
    return _strong(book, account, form)


def list_charge_refunds(book: Book, account: str, form: Form, charge: str) -> dict[str, Any]:
    """Return one page of the charge's own list, which may be behind (facts 3)."""
    allow_only(form, *PARAMETERS)
    get_charge(book, account, charge, param="id")
    lag = book.settings.lag_charge_refunds_seconds
    url = f"/v1/charges/{charge}/refunds"
    return page(shown_before(book, account, charge, lag_seconds=lag), form, url=url)


def _strong(book: Book, account: str, form: Form) -> dict[str, Any]:
    limit = integer(form, "limit", most=MAX_PAGE) or 10
    where = ["account = ?"]
    values: list[object] = [account]
    for param in ("charge", "payment_intent"):
        if param in form:
            where.append(f"{param} = ?")
            values.append(form[param])
    for sign, number in created_bounds(form):
        where.append(f"created {sign} ?")
        values.append(number)
    backwards = "ending_before" in form
    cursor = form.get("ending_before") if backwards else form.get("starting_after")
    if cursor is not None:
        at = _cursor(book, account, cursor, "ending_before" if backwards else "starting_after")
        where.append(f"(created, number) {'>' if backwards else '<'} (?, ?)")
        values += [at["created"], at["number"]]
    order = "created, number" if backwards else "created DESC, number DESC"
    rows = book.rows(
        f"SELECT * FROM refunds WHERE {' AND '.join(where)} ORDER BY {order} LIMIT ?",  # noqa: S608 - literals above
        *values,
        limit + 1,
    )
    shown = [refund_object(row) for row in rows[:limit]]
    return list_object(shown[::-1] if backwards else shown, has_more=len(rows) > limit, url="/v1/refunds")


def _cursor(book: Book, account: str, identifier: str, param: str) -> Row:
    row = book.row("SELECT number, created FROM refunds WHERE account = ? AND id = ?", account, identifier)
    if row is None:
        raise missing("refund", identifier, param=param)
    return row
