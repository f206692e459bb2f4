"""Where the pages of work on an operation are, and what a person enters there."""

from datetime import timedelta

from ledger.clock import now_utc
from tests.console.conftest import ticket_of


def at(operation, action=""):
    return f"/admin/review/{ticket_of(operation.workflow)}/{action}"


def entered(**changes):
    return {
        "reason_code": "PROVIDER_HAS_NO_REFUND",
        "source": "SUPPORT_ANSWER",
        "seen_at": f"{now_utc() - timedelta(minutes=1):%Y-%m-%dT%H:%M}",
        "provider_reference": "chat_7",
        "words": "There is <b>no</b> refund with this key.",
        "note": "Asked by chat.",
    } | changes
