"""Facts in every combination that types allow, also those that no row can hold."""

from datetime import UTC, datetime

from hypothesis import strategies as st

from ledger.duplicates import Finding
from ledger.findings import ReasonCode
from ledger.snapshot import EntryKind, EntryStatus
from notifications.facts import Receipt, StatedEntry, StatedFacts
from refunds.states import OperationState, Origin, WorkflowState

AT = datetime(2026, 11, 28, 10, 41, tzinfo=UTC)
TIMES = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
CURRENCIES = st.sampled_from(["USD", "EUR", "JPY", "KWD", "", "??"])
ENTRIES = st.builds(
    StatedEntry,
    kind=st.sampled_from(EntryKind),
    status=st.sampled_from(EntryStatus),
    processor_reference=st.just("re_ledger"),
    amount_minor_units=st.integers(1, 10**15),
    currency=CURRENCIES,
    occurred_at=TIMES,
)
FACTS = st.builds(
    StatedFacts,
    workflow_state=st.sampled_from(WorkflowState),
    reference=st.just("RF-7K2M-91Q4"),
    order_number=st.sampled_from(["2841", "#2841", "A-{x}", ""]),
    requested_at=TIMES,
    operation_state=st.none() | st.sampled_from(OperationState),
    origin=st.sampled_from(Origin),
    state_reason=st.sampled_from(
        ["", "WITHDRAWN_BY_CUSTOMER", "NOT_ANSWERED", "ATTACHED", "CUSTOMER_ASKED_PERSON", "TEST"]
    ),
    state_since=st.none() | TIMES,
    attached_to=st.sampled_from(["", "RF-0000-0000"]),
    answer_by=st.none() | TIMES,
    other_operation_stands=st.booleans(),
    provider_answered=st.booleans(),
    refused_before_sending=st.booleans(),
    finding=st.sampled_from([*Finding, ""]),
    reason_code=st.sampled_from([*ReasonCode, ""]),
    amount_minor_units=st.none() | st.integers(1, 10**15),
    currency=CURRENCIES,
    processor_reference=st.none() | st.just("re_ours") | st.just(""),
    card_last4=st.sampled_from(["4242", ""]),
    ticket=st.none() | st.just(8920),
    case_kind=st.sampled_from(["APPROVAL", "INVESTIGATION", "VERIFICATION", "FINANCE", ""]),
    entries=st.lists(ENTRIES, max_size=3).map(tuple),
    other_refunds=st.lists(ENTRIES, max_size=2).map(tuple),
    other_order_numbers=st.sampled_from([(), ("2850",), ("2850", "2851", "2852")]),
    completed_at=st.none() | TIMES,
    last_checked_at=st.none() | TIMES,
    next_check_at=st.none() | TIMES,
    receipt=st.sampled_from(Receipt),
)


def confirmed(**columns):
    """A confirmed refund of $49.99 for order #2841."""
    values = {
        "workflow_state": "COMPLETED",
        "operation_state": "COMPLETED",
        "reference": "RF-7K2M-91Q4",
        "order_number": "2841",
        "requested_at": AT,
        "completed_at": AT,
        "amount_minor_units": 4999,
        "currency": "USD",
        "processor_reference": "re_1",
        "card_last4": "4242",
    }
    return StatedFacts(**values | columns)


def stated(workflow_state, operation_state=None, **columns):
    """A request about order #2841 in a state, without money facts."""
    values = {"reference": "RF-7K2M-91Q4", "order_number": "2841", "requested_at": AT}
    return StatedFacts(workflow_state=workflow_state, operation_state=operation_state, **values | columns)
