"""Products that believe a model in one thing: each must be noticed by the comparison, or the comparison proves nothing."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from refunds.evidence.instruction import build_instruction
from refunds.fingerprints import RefundInstruction
from refunds.models import Proposal, RefundWorkflow
from refunds.proposers.schema import Malformed, ParsedProposal, parse_proposal
from refunds.stages import s07_validate_proposal
from tests.adversary.cases import AUTOMATIC, ONE_PERSON
from tests.adversary.everywhere import everywhere

_KNOWN: Final = ("recommended_action", "reason_code", "requires_human_review", "customer_message")
Design = Callable[[], AbstractContextManager[object]]


def _forgiving(raw: str | bytes) -> ParsedProposal | Malformed:
    """Read what can be read and forget the rest, "since the schema is only advice"."""
    said = _document(raw)
    return parse_proposal(json.dumps({name: said[name] for name in _KNOWN if name in said}) if said else raw)


def _document(raw: str | bytes) -> dict[str, Any]:
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _said_about(workflow: RefundWorkflow) -> dict[str, Any]:
    proposal = Proposal.objects.filter(workflow=workflow).select_related("draft").last()
    return _document(proposal.draft.body) if proposal is not None and proposal.draft is not None else {}


def _instruction_from(name: str, key: str) -> Design:
    """Take one value of the command from the answer where it has one."""

    def built(workflow: RefundWorkflow) -> RefundInstruction:
        instruction = build_instruction(workflow)
        said = _said_about(workflow).get(key)
        usable = isinstance(said, type(getattr(instruction, name))) and said
        return replace(instruction, **{name: said}) if usable else instruction

    return lambda: _both(everywhere(build_instruction, built), everywhere(parse_proposal, _forgiving))


def _review_from(wanted: Callable[[dict[str, Any]], bool]) -> Design:
    """Let the answer say whether a person is needed."""
    real = s07_validate_proposal._facts

    def facts(workflow: RefundWorkflow, proposal: Proposal, *more: Any) -> Any:
        found = real(workflow, proposal, *more)
        spared = wanted(_said_about(workflow))
        return replace(found, auto_limit_minor_units=10**12, person_required=False) if spared else found

    return lambda: _both(
        patch.object(s07_validate_proposal, "_facts", facts), everywhere(parse_proposal, _forgiving)
    )


@contextmanager
def _both(*designs: AbstractContextManager[object]) -> Iterator[None]:
    with ExitStack() as stack:
        for design in designs:
            stack.enter_context(design)
        yield


# Each with the case in which it does harm, and the outputs that make it.
WRONG_DESIGNS: Final[dict[str, tuple[str, str, Design]]] = {
    "the amount is the model's": (
        AUTOMATIC,
        "amounts_in_keys",
        _instruction_from("amount_minor_units", "amount_minor_units"),
    ),
    "the currency is the model's": (AUTOMATIC, "amounts_in_keys", _instruction_from("currency", "currency")),
    "the charge is the model's": (AUTOMATIC, "other_payments", _instruction_from("payment", "charge_id")),
    "the account is the model's": (AUTOMATIC, "tenants_and_people", _instruction_from("account", "account")),
    "the model's wish for no review is granted": (
        ONE_PERSON,
        "honest",
        _review_from(lambda said: said.get("requires_human_review") is False),
    ),
    "the model's approval counts": (
        ONE_PERSON,
        "self_approval",
        _review_from(lambda said: said.get("approved") is True),
    ),
}
