"""Rows for tests: ledger facts by factory_boy, workflows and operations moved into a state by the one writer.

Every function takes the columns that a test cares about as keywords and gives the rest sound values.
"""

from tests.factories.commands import add_attempt, add_check, latest_approval
from tests.factories.facts import (
    NOW,
    POLICY_RULES,
    DuplicateOrder,
    make_customer,
    make_duplicate_order,
    make_entry,
    make_merchant,
    make_order,
    make_payment,
    make_policy,
    make_staff,
    make_user,
)
from tests.factories.house_texts import make_house_text
from tests.factories.models import model_configuration, qualify_model
from tests.factories.reading import make_reading
from tests.factories.waiting import open_without_order
from tests.factories.workflows import (
    add_message,
    move_operation,
    move_workflow,
    open_workflow,
    operation_in_state,
    workflow_in_state,
)

__all__ = [
    "NOW",
    "POLICY_RULES",
    "DuplicateOrder",
    "add_attempt",
    "add_check",
    "add_message",
    "latest_approval",
    "make_customer",
    "make_duplicate_order",
    "make_entry",
    "make_house_text",
    "make_merchant",
    "make_order",
    "make_payment",
    "make_policy",
    "make_reading",
    "make_staff",
    "make_user",
    "model_configuration",
    "move_operation",
    "move_workflow",
    "open_without_order",
    "open_workflow",
    "operation_in_state",
    "qualify_model",
    "workflow_in_state",
]
