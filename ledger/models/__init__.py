from ledger.models.append_only import AppendOnlyError, AppendOnlyModel
from ledger.models.audit import AuditOutbox, AuditPublication
from ledger.models.erasable import ErasableText, text_sha256
from ledger.models.facts import Customer, LedgerEntry, Merchant, Order, Payment, StaffMembership
from ledger.models.heartbeat import Heartbeat
from ledger.models.settlement import Settlement, SettlementFile
from ledger.models.stateful import EventKind, EventModel, StatefulModel
from ledger.models.switch import Switch
from ledger.models.tally import Tally

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
    "Settlement",
    "SettlementFile",
    "StaffMembership",
    "StatefulModel",
    "Switch",
    "Tally",
    "text_sha256",
]
