"""What the operator may let happen at the simulated provider: a closed list, each by the provider's own rules."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from django.http import Http404

from config.demo.provider_page.simulator import tell

_REFERENCE: Final = re.compile(r"[A-Za-z0-9_]{1,100}")
_ACCOUNT: Final = re.compile(r"(acct_[A-Za-z0-9]{1,60})?")


class About(StrEnum):
    """What an action needs to know."""

    REFUND = "refund"
    PAYMENT = "payment"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Thing:
    """What an action is about: the id of a refund or a charge, and its account."""

    reference: str
    account: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One button: what it says, what it is about, and what is said when it is done."""

    name: str
    label: str
    about: About
    done: str
    do: Callable[[Thing], None]


def about(action: Action, reference: str, *, account: str) -> Thing:
    """Return what a form names, checked for its shape; raises Http404."""
    wanted = action.about is not About.NOTHING
    if not _ACCOUNT.fullmatch(account) or (wanted and not _REFERENCE.fullmatch(reference)):
        raise Http404
    return Thing(reference if wanted else "", account)


def _of_charge(path: str, **more: Any) -> Callable[[Thing], None]:
    return lambda thing: tell(path, {"charge": thing.reference, "account": thing.account, **more})


def _becomes(status: str, **more: Any) -> Callable[[Thing], None]:
    return lambda thing: tell(f"refunds/{thing.reference}", {"status": status, **more})


_ACTIONS: Final = (
    Action(
        name="settle-refund",
        label="Let it succeed",
        about=About.REFUND,
        done="The refund succeeded at the provider; its events are on their way.",
        do=_becomes("succeeded"),
    ),
    Action(
        name="fail-refund",
        label="Let the bank send it back",
        about=About.REFUND,
        done="The refund failed at the provider; its events are on their way.",
        do=_becomes("failed", failure_reason="expired_or_canceled_card"),
    ),
    Action(
        name="refund",
        label="Refund the rest in the dashboard",
        about=About.PAYMENT,
        done="The rest was refunded as by the merchant's staff at the provider.",
        do=_of_charge("dashboard/refunds"),
    ),
    Action(
        name="dispute",
        label="Open a dispute",
        about=About.PAYMENT,
        done="The customer's bank opened a dispute.",
        do=_of_charge("disputes"),
    ),
    Action(
        name="lose-answer",
        label="Lose the next answer",
        about=About.PAYMENT,
        done="The next refund of this payment is booked, and its answer is lost.",
        do=lambda thing: tell("faults", {"kind": "drop_after", "charge": thing.reference}),
    ),
    Action(
        name="forget-keys",
        label="Forget every idempotency key",
        about=About.NOTHING,
        done="The provider knows no idempotency key any more, as after 24 hours.",
        do=lambda _thing: tell("keys/forget", {}),
    ),
)
ACTIONS: Final[Mapping[str, Action]] = MappingProxyType({action.name: action for action in _ACTIONS})
