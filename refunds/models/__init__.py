from refunds.models.books import BookComparison, BookDifference, FreezingEntry
from refunds.models.decisions import CustomerMessage, MessageReading, Proposal, RuleResult
from refunds.models.gateway import GatewayAttempt, GatewayResponse, ReconciliationCheck
from refunds.models.knowledge import ApprovedDocument
from refunds.models.operation import RefundOperation, RefundOperationEvent
from refunds.models.qualification import ModelQualification
from refunds.models.webhook import GatewayWebhook
from refunds.models.workflow import RefundWorkflow, RefundWorkflowEvent

__all__ = [
    "ApprovedDocument",
    "BookComparison",
    "BookDifference",
    "CustomerMessage",
    "FreezingEntry",
    "GatewayAttempt",
    "GatewayResponse",
    "GatewayWebhook",
    "MessageReading",
    "ModelQualification",
    "Proposal",
    "ReconciliationCheck",
    "RefundOperation",
    "RefundOperationEvent",
    "RefundWorkflow",
    "RefundWorkflowEvent",
    "RuleResult",
]
