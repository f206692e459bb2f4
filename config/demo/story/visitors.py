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


class StoryError(Exception):
    """If you see this, something that the story promises did not hold; the message says what."""


class CustomerVisitor:
    """A customer with an API token of their own."""

    def __init__(self, customer: Customer) -> None:
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

    def _wait(
        self, workflow_id: str, state_of: Callable[[Any], str | None], states: set[str], seconds: float
    ) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while True:
            seen = self.look(workflow_id)
            if state_of(seen) in states:
                return seen
            if time.monotonic() > deadline:
                raise StoryError(f"still {state_of(seen)} after {seconds:.0f} s, not {' or '.join(states)}")
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
        page = self._client.get(f"/admin/review/{ticket}/").raise_for_status().text
        link = re.search(rf'href="(/admin/review/{ticket}/approve/\?[^"]*)"', page)
        if link is None:
            raise StoryError(f"the case #{ticket} offers no approval")
        path = link.group(1).replace("&amp;", "&")
        confirm = self._client.get(path).raise_for_status().text
        seen = re.search(r'name="fingerprint" value="([0-9a-f]{64})"', confirm)
        if seen is None:
            raise StoryError("the confirm page shows no fingerprint")
        answer = self._post(
            path, {"fingerprint": seen.group(1), "reason_code": "DUPLICATE_CONFIRMED", "note": ""}
        )
        if answer.status_code != httpx2.codes.OK:
            raise StoryError(f"approving #{ticket} answered {answer.status_code}")

    def _post(self, path: str, form: dict[str, str]) -> httpx2.Response:
        page = self._client.get(path).raise_for_status().text
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        if token is None:
            raise StoryError(f"{path} has no form")
        return self._client.post(
            path,
            data={**form, "csrfmiddlewaretoken": token.group(1)},
            headers={"Referer": f"{settings.PUBLIC_URL}{path}"},
        )
