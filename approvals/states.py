"""The states of an approval. Pure."""

from enum import StrEnum
from typing import Final

from ledger.state_table import StateTable


class ApprovalState(StrEnum):
    """Whether a decision stands, and whether it was used."""

    PENDING = "PENDING"
    GRANTED = "GRANTED"
    REJECTED = "REJECTED"
    CONSUMED = "CONSUMED"
    VOIDED = "VOIDED"
    EXPIRED = "EXPIRED"


_A = ApprovalState

APPROVAL_TABLE: Final = StateTable(
    initial=_A.PENDING,
    targets={
        _A.PENDING: frozenset({_A.GRANTED, _A.REJECTED, _A.VOIDED}),
        _A.GRANTED: frozenset({_A.CONSUMED, _A.VOIDED, _A.EXPIRED}),
        _A.REJECTED: frozenset(),
        _A.CONSUMED: frozenset({_A.VOIDED}),
        _A.VOIDED: frozenset(),
        _A.EXPIRED: frozenset(),
    },
)


class SubjectKind(StrEnum):
    """What an approval is about; ``subject_id`` names one of these."""

    REFUND = "REFUND"  # a request: the exact command that may be sent
    POLICY = "POLICY"  # a house text: the exact words that a model may be given
    EVIDENCE = "EVIDENCE"  # an operation: what a person found at the provider, and what follows from it


class CaseKind(StrEnum):
    """Which people own a case."""

    APPROVAL = "APPROVAL"
    INVESTIGATION = "INVESTIGATION"
    VERIFICATION = "VERIFICATION"
    FINANCE = "FINANCE"
