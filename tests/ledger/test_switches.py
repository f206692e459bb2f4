import pytest
from django.core.management import CommandError, call_command

from ledger.actors import Actor
from ledger.models import AuditOutbox, Switch
from ledger.switches import GATEWAY_WRITES, UnknownSwitchError, is_on, turn
from tests.factories import NOW

pytestmark = pytest.mark.django_db
SOMEBODY = Actor.staff(7)


def test_a_switch_that_was_never_turned_is_on():
    assert is_on(GATEWAY_WRITES)


def test_turning_a_switch_is_seen_at_once_and_is_evidence():
    turn(GATEWAY_WRITES, on=False, reason="provider incident", actor=SOMEBODY, now=NOW)
    assert not is_on(GATEWAY_WRITES)
    turn(GATEWAY_WRITES, on=True, reason="over", actor=SOMEBODY, now=NOW)
    assert is_on(GATEWAY_WRITES)
    told = list(AuditOutbox.objects.order_by("pk").values_list("topic", "subject", "payload"))
    assert told == [
        (
            "switch.off",
            GATEWAY_WRITES,
            {"actor": {"type": "STAFF", "id": "user:7"}, "reason": "provider incident"},
        ),
        ("switch.on", GATEWAY_WRITES, {"actor": {"type": "STAFF", "id": "user:7"}, "reason": "over"}),
    ]


def test_there_is_no_other_switch():
    with pytest.raises(UnknownSwitchError):
        is_on("gateway_write")
    with pytest.raises(UnknownSwitchError):
        turn("gateway_write", on=False, reason="", actor=SOMEBODY, now=NOW)
    assert not Switch.objects.exists()


def test_the_command_shows_and_turns(capsys):
    call_command("switch")
    assert capsys.readouterr().out == "gateway_writes: on (never turned)\n"
    call_command("switch", "gateway_writes", "off", "--reason", "drill")
    assert capsys.readouterr().out.startswith("gateway_writes: off, since ")
    assert not is_on(GATEWAY_WRITES)


@pytest.mark.parametrize(
    "asked", [["gateway_writes"], ["gateway_writes", "off"], ["gateway_writes", "off", "--reason", " "]]
)
def test_the_command_asks_for_what_is_missing(asked):
    with pytest.raises(CommandError):
        call_command("switch", *asked)
    assert is_on(GATEWAY_WRITES)


@pytest.mark.parametrize("reason", ["card 4242 4242 4242 4242", "a\x1b[2Jb", "\u202etxt"])
def test_a_reason_that_may_not_be_kept_turns_nothing(reason):
    with pytest.raises(CommandError) as refused:
        call_command("switch", "gateway_writes", "off", "--reason", reason)
    assert reason not in str(refused.value)
    assert is_on(GATEWAY_WRITES)
    assert not AuditOutbox.objects.exists()
