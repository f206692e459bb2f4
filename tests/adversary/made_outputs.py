"""Outputs that nobody thought of: bent ones, arbitrary objects, arbitrary text."""

import json
from typing import Any

from hypothesis import strategies as st

from refunds.proposers.schema import ProposalReason, ProposedAction
from tests.adversary.outputs import all_outputs
from tests.proposers.samples import GOOD

_SHORT = [output.text for output in all_outputs() if len(output.text) < 2000]
_TEMPTING = ("amount_minor_units", "charge_id", "currency", "account", "approved", "customer_id", "notes")
_any_text = st.text(alphabet=st.characters(), max_size=80)  # lone surrogates included
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_any_text, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def _bent(draw: Any) -> str:
    """Cut a piece out of one output and put a piece of another, or anything, in its place."""
    text, other = draw(st.sampled_from(_SHORT)), draw(st.sampled_from(_SHORT) | _any_text)
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 40)))
    piece = draw(st.integers(0, len(other)))
    return text[:start] + other[piece : piece + 40] + text[end:]


_near = st.fixed_dictionaries(
    {},
    optional={
        "recommended_action": st.sampled_from([*ProposedAction, "refund_now"]) | _values,
        "reason_code": st.sampled_from([*ProposalReason, "goodwill"]) | _values,
        "requires_human_review": st.booleans() | _values,
        "customer_message": st.just(GOOD["customer_message"]) | _any_text,
        **dict.fromkeys(_TEMPTING, _values),
    },
).map(json.dumps)
_lawful = st.fixed_dictionaries(
    {
        "recommended_action": st.sampled_from(list(ProposedAction)).map(str),
        "reason_code": st.sampled_from(list(ProposalReason)).map(str),
        "requires_human_review": st.booleans(),
        "customer_message": st.just(GOOD["customer_message"]) | _any_text,
    }
).map(json.dumps)
made_outputs = st.one_of(_bent(), _near, _lawful, _values.map(json.dumps), st.text(max_size=200))
