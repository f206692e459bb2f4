import json
from datetime import UTC, datetime, timedelta

import pytest
import stripe
from hypothesis import given
from hypothesis import strategies as st

from refunds.gateways.stripe_events import TOLERANCE, SignatureProblem, check_signature, read_event
from tests.webhooks.signed import SECRET, sign

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
AT = int(NOW.timestamp())
BODY = b'{"id": "evt_1"}'
_P = SignatureProblem


def check(body=BODY, header=None, *, secrets=(SECRET,), now=NOW):
    return check_signature(body, sign(body, at=AT) if header is None else header, secrets=secrets, now=now)


def test_what_the_sdk_accepts_is_accepted():
    now = datetime.now(UTC)
    header = sign(BODY, at=int(now.timestamp()))
    assert stripe.WebhookSignature.verify_header(BODY.decode(), header, SECRET, 300)
    assert check(header=header, now=now) is None


@given(st.binary(max_size=300), st.binary(min_size=1, max_size=5), st.integers(0, 300))
def test_no_changed_body_passes(body, extra, place):
    changed = body[:place] + extra + body[place:]
    assert check(body, sign(body, at=AT)) is None
    assert check(changed, sign(body, at=AT)) is _P.MISMATCH


@given(st.text(max_size=200))
def test_no_made_up_header_passes_or_breaks(header):
    assert check(header=header) in {_P.MALFORMED, _P.MISMATCH}


@pytest.mark.failure("F039")
@pytest.mark.parametrize(
    ("seconds", "problem"), [(300, None), (301, _P.TOO_OLD), (-300, None), (-301, _P.FROM_THE_FUTURE)]
)
def test_a_recorded_delivery_is_refused_later_and_one_of_tomorrow_today(seconds, problem):
    assert timedelta(seconds=300) == TOLERANCE
    assert check(now=NOW + timedelta(seconds=seconds)) is problem


@pytest.mark.failure("F039")
def test_without_a_secret_nothing_is_accepted():
    assert check(secrets=()) is _P.NO_SECRET
    assert check(header=sign(BODY, secret="", at=AT), secrets=()) is _P.NO_SECRET


def test_while_a_secret_is_rolled_either_signature_and_either_secret_will_do():
    old, new = sign(BODY, secret="whsec_old", at=AT), sign(BODY, secret="whsec_new", at=AT)
    both = f"{old},{new.partition(',')[2]}"
    assert check(header=both, secrets=("whsec_new",)) is None
    assert check(header=old, secrets=("whsec_new", "whsec_old")) is None
    assert check(header=both, secrets=("whsec_other",)) is _P.MISMATCH


@pytest.mark.parametrize(
    "header",
    [
        "",
        "t=1",
        "v1=00",
        f"t={AT},t={AT},v1=00",
        "t=12e3,v1=00",
        "t=١٢,v1=00",
        f"t=-{AT},v1=00",
        "t=" + "9" * 5000 + ",v1=00",
        f"t={AT}," + ",".join(["v1=00"] * 21),
        f"t={AT},v0=00",
    ],
)
def test_a_header_of_another_shape_is_malformed(header):
    assert check(header=header) is _P.MALFORMED


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff",
        b'{"object": "event"}',
        b'{"object": "event", "id": "evt_1", "type": "refund.updated", "created": 1e400}',
        b'{"object": "event", "id": "evt_1", "type": "refund.updated", "created": 99999999999999999999}',
        b'{"object": "event", "id": "evt 1", "type": "refund.updated", "created": 1}',
        b'{"object": "event", "id": "evt_1", "type": 7, "created": 1}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_event_is_none(body):
    assert read_event(body) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_the_object_holds_the_event_can_be_read(about):
    event = {
        "id": "evt_1",
        "object": "event",
        "type": "refund.updated",
        "created": 1,
        "data": {"object": about},
    }
    found = read_event(json.dumps(event).encode())
    assert found is not None
    assert (found.event_id, found.livemode) == ("evt_1", False)
