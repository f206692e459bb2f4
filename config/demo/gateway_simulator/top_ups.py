"""A balance that grew: refunds that waited for it succeed, the oldest first (docs.stripe.com/refunds; facts 2.2)."""

from config.demo.gateway_simulator.balance import is_enough
from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.events import Events


def settle_what_is_covered(book: Book, events: Events, account: str, currency: str) -> None:
    """Let waiting refunds succeed as far as the balance goes; must run inside ``book.transaction()``."""
    waiting = book.rows(
        "SELECT * FROM refunds WHERE account = ? AND currency = ? AND status = 'pending'"
        " AND pending_reason = 'insufficient_funds' ORDER BY created, number",
        account,
        currency,
    )
    for refund in waiting:
        if not is_enough(book, refund, refund["amount"]):
            return
        events.set_refund_status(refund["id"], "succeeded")
