"""The people of the story, as they would use the product: a customer over the API, a reviewer over the pages."""

import re
import time
from collections.abc import Callable
from typing import Any

import httpx2
from django.conf import settings
from knox.models import AuthToken

from config.demo.credentials import PASSWORD
from ledger.models import Customer

SHORT_PATIENCE = 8.0


class StoryError(Exception):
    """If you see this, something that the story promises did not hold; the message says what."""


class CustomerVisitor:
    """A customer with an API token of their own.

    ``hurried``: once something got stuck, later waits are short: a planted fault was noticed then.
    """

    def __init__(self, customer: Customer, *, hurried: bool = False) -> None:
        self._hurried, self._stuck = hurried, False
        _, token = AuthToken.objects.create(user=customer.user)
        headers = {"Authorization": f"Token {token}"}
        host = customer.merchant.host
        if host:
            headers["Host"] = host
        self._client = httpx2.Client(base_url=f"{settings.PUBLIC_URL}/api/v1", headers=headers, timeout=30)

    def ask(self, *, message: str, order_number: str) -> dict[str, Any]:
        """Ask for a refund; asking twice with one key is one request, which is tried here as well."""
        body = {"message": message, "order_number": order_number}
        headers = {"Idempotency-Key": f"story-{order_number}"}
        answers = [self._client.post("/refund-requests", json=body, headers=headers) for _ in range(2)]
        if [answer.status_code for answer in answers] != [201, 200]:
            raise StoryError(f"asking twice answered {[answer.status_code for answer in answers]}")
        if answers[0].json()["workflow_id"] != answers[1].json()["workflow_id"]:
            raise StoryError("asking twice opened two requests")
        opened: dict[str, Any] = answers[0].json()
        return opened

    def look(self, workflow_id: str) -> dict[str, Any]:
        """Return the request as the customer sees it."""
        seen: dict[str, Any] = self._client.get(f"/refund-requests/{workflow_id}").raise_for_status().json()
        return seen

    def wait_for(self, workflow_id: str, states: set[str], *, seconds: float = 45) -> dict[str, Any]:
        """Look until the request is in one of the states; raise ``StoryError`` when it takes too long."""
        return self._wait(workflow_id, lambda seen: seen["state"], states, seconds)

    def wait_for_operation(
        self, workflow_id: str, states: set[str], *, seconds: float = 45
    ) -> dict[str, Any]:
        """The same for the state of the request's operation."""
        return self._wait(workflow_id, lambda seen: (seen["operation"] or {}).get("state"), states, seconds)

    def wait_until_told(self, workflow_id: str, keys: set[str], *, seconds: float = 45) -> dict[str, Any]:
        """The same for what the customer is told, by the key of the statement."""
        return self._wait(workflow_id, lambda seen: (seen["status"] or {}).get("key"), keys, seconds)

    def _wait(
        self, workflow_id: str, state_of: Callable[[Any], str | None], states: set[str], seconds: float
    ) -> dict[str, Any]:
        if self._hurried and self._stuck:
            seconds = min(seconds, SHORT_PATIENCE)
        deadline = time.monotonic() + seconds
        while True:
            seen = self.look(workflow_id)
            if state_of(seen) in states:
                return seen
            if time.monotonic() > deadline:
                self._stuck = True
                wanted = " or ".join(sorted(states))
                raise StoryError(f"still {state_of(seen)} after {seconds:.0f} s, not {wanted}")
            time.sleep(0.2)


class ReviewerVisitor:
    """A member of the billing staff, signed in to the review console."""

    def __init__(self, email: str) -> None:
        self._client = httpx2.Client(base_url=settings.PUBLIC_URL, timeout=30, follow_redirects=True)
        self._post("/accounts/login/", {"login": email, "password": PASSWORD})
        if self._client.get("/admin/review/").status_code != httpx2.codes.OK:
            raise StoryError(f"{email} could not open the review queue")

    def approve(self, ticket: int) -> None:
        """Open the case, follow its own link to the confirm page, and approve what it shows."""
        page = self._client.get(_case(ticket)).raise_for_status().text
        link = re.search(rf'href="(/admin/review/{ticket}/approve/\?[^"]*)"', page)
        if link is None:
            raise StoryError(f"the case #{ticket} offers no approval")
        path = link.group(1).replace("&amp;", "&")
        confirm = self._client.get(path).raise_for_status().text
        seen = re.search(r'name="fingerprint" value="([0-9a-f]{64})"', confirm)
        if seen is None:
            raise StoryError("the confirm page shows no fingerprint")
        form = {"fingerprint": seen.group(1), "reason_code": "DUPLICATE_CONFIRMED", "note": ""}
        self._expect_done(self._post(path, form), f"approving #{ticket}")

    def rebuild(self, ticket: int) -> None:
        """Claim the case, and build its command again from the records alone."""
        case = _case(ticket)
        self._expect_done(self._post(f"{case}claim/", {}, form_on=case), f"claiming #{ticket}")
        form = {"reason_code": "PROPOSAL_UNUSABLE", "note": ""}
        self._expect_done(self._post(f"{case}rebuild/", form), f"rebuilding #{ticket}")

    def _expect_done(self, answer: httpx2.Response, what: str) -> None:
        if answer.status_code != httpx2.codes.OK:
            raise StoryError(f"{what} answered {answer.status_code}")

    def _post(self, path: str, form: dict[str, str], *, form_on: str = "") -> httpx2.Response:
        """Send the form that stands on the page ``form_on``, or at ``path`` itself."""
        page = self._client.get(form_on or path).raise_for_status().text
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        if token is None:
            raise StoryError(f"{form_on or path} has no form")
        return self._client.post(
            path,
            data={**form, "csrfmiddlewaretoken": token.group(1)},
            headers={"Referer": f"{settings.PUBLIC_URL}{path}"},
        )


def _case(ticket: int) -> str:
    return f"/admin/review/{ticket}/"
