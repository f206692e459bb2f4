import asyncio
import smtplib
import threading
from email.message import EmailMessage

import pytest

from config.demo.bench.peer_adapter.mailbox import receiving, references_in
from config.demo.bench.peer_adapter.translation import Addresses, Translation


class Api:
    async def call(self, method, path, payload=None, *, token=""):
        self.path = path
        self.asked = (method, payload and payload["order_number"], token)
        if method == "GET":
            return 200, {"state": "COMPLETED", "updated_at": "2026-11-30T00:00:01+00:00"}
        return 201, {"workflow_id": "wf_1", "reference": "RF-AAAA-BBBB"}


class Posts(list):
    async def post(self, url, *, json):
        self.append((url, json["id"]))


def run(*steps):
    """Do each step in one loop; return the answers, what was posted, and what the API was asked last."""
    api, posts = Api(), Posts()
    translation = Translation(api, ["t1", "t2"], Addresses("g", "m", "http://notify"), posts)

    async def doing():
        answers = []
        for step in steps:
            answers.append(await step(translation))
            await asyncio.sleep(0)
        return answers

    return asyncio.run(doing()), posts, api


def ask(translation):
    return translation.front("/request", {}, b'{"order_id": "o2"}')


async def deliver(translation):
    translation.delivered("RF-AAAA-BBBB")


def look(translation):
    return translation.front("/request/wf_1", {}, b"")


def test_a_request_is_made_by_the_customer_of_its_order():
    answers, posts, api = run(ask)
    assert answers == [(202, {"id": "wf_1"})]
    assert api.asked == ("POST", "100001", "t2")
    assert posts == []


def test_the_status_is_that_of_the_api():
    answers, _, api = run(ask, look)
    assert answers[1] == (
        200,
        {"status": "COMPLETED", "completed_at": 1_795_996_801.0},
    )
    assert api.asked == ("GET", None, "t2")


@pytest.mark.parametrize("steps", [(ask, deliver), (deliver, ask)])
def test_a_message_notifies_whether_it_comes_after_the_answer_or_before(steps):
    _, posts, _ = run(*steps)
    assert posts == [("http://notify", "wf_1")]


def test_a_reference_is_found_in_any_encoding():
    message = EmailMessage()
    message.set_content("Your refund RF-7K2M-Q9XD was processed.", cte="base64")
    assert references_in(bytes(message)) == {"RF-7K2M-Q9XD"}


def test_mail_is_taken_as_any_server_takes_it():
    found = []
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(receiving(found.append), "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = "a@example.com", "b@example.com", "Refund"
        message.set_content("RF-7K2M-Q9XD")
        with smtplib.SMTP("127.0.0.1", server.sockets[0].getsockname()[1], timeout=5) as client:
            client.send_message(message)
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    assert found == ["RF-7K2M-Q9XD"]
