from ledger.models.append_only import AppendOnlyError, AppendOnlyModel
from ledger.models.audit import AuditOutbox, AuditPublication
from ledger.models.erasable import ErasableText, text_sha256
from ledger.models.facts import Customer, LedgerEntry, Merchant, Order, Payment, StaffMembership
from ledger.models.heartbeat import Heartbeat
from ledger.models.stateful import EventKind, EventModel, StatefulModel
from ledger.models.switch import Switch

__all__ = [
    "AppendOnlyError",
    "AppendOnlyModel",
    "AuditOutbox",
    "AuditPublication",
    "Customer",
    "ErasableText",
    "EventKind",
    "EventModel",
    "Heartbeat",
    "LedgerEntry",
    "Merchant",
    "Order",
    "Payment",
    "StaffMembership",
    "StatefulModel",
    "Switch",
    "text_sha256",
]
