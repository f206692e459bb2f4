"""People with browsers: signed-in sessions whose requests go to real web processes."""

import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

from django.db import connection
from django.test import Client

from config.demo.services import ports

API = "/api/v1/refund-requests"
_SECRET = "c" * 32


class Session:
    """One signed-in browser; its requests go to one of the web processes."""

    def __init__(self, user, *, port):
        browser = Client()
        browser.force_login(user)
        self._port = port
        self._cookie = f"sessionid={browser.cookies['sessionid'].value}; csrftoken={_SECRET}"

    def ask_by_api(self, order, message):
        """Return the status, and the id of the workflow that the answer names."""
        body = json.dumps({"message": message, "order_number": order.number})
        status, _, answer = self._post(API, body, "application/json")
        return status, json.loads(answer).get("workflow_id")

    def ask_by_form(self, order, message, token):
        """Return the status, and the reference that the answer leads to."""
        form = {"message": message, "order": order.number, "other_order": "", "client_token": token}
        status, headers, _ = self._post_form("/support/", form)
        return status, headers.get("location", "").rstrip("/").rpartition("/")[2]

    def approve(self, ticket, fingerprint):
        """Return the status of one approval in the review console."""
        form = {"fingerprint": fingerprint, "reason_code": "DUPLICATE_CONFIRMED", "note": "Compared."}
        return self._post_form(f"/admin/review/{ticket}/approve/", form)[0]

    def _post_form(self, path, form):
        body = urlencode({**form, "csrfmiddlewaretoken": _SECRET})
        return self._post(path, body, "application/x-www-form-urlencoded")

    def _post(self, path, body, content_type):
        headers = {"Cookie": self._cookie, "Content-Type": content_type, "X-CSRFToken": _SECRET}
        asked = http.client.HTTPConnection(ports.HOST, self._port, timeout=120)
        try:
            asked.request("POST", path, body=body, headers=headers)
            response = asked.getresponse()
            return (
                response.status,
                {name.lower(): value for name, value in response.getheaders()},
                response.read(),
            )
        finally:
            asked.close()


def at_once(calls, *, chance, jitter_seconds=0.05):
    """Run every call in a thread of its own from one barrier on, each a moment later, and return the results."""
    barrier = threading.Barrier(len(calls))
    delays = [chance.uniform(0, jitter_seconds) for _ in calls]

    def one(call, delay):
        try:
            barrier.wait(60)
            time.sleep(delay)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls, delays))
