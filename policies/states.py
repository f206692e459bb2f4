"""The states of a house text. Pure."""

from enum import StrEnum
from typing import Final

from ledger.state_table import StateTable


class DocumentState(StrEnum):
    """Whether a text may be given to a model."""

    UPLOADED = "UPLOADED"  # waits for a second person; nobody is given it
    ACTIVE = "ACTIVE"
    REJECTED = "REJECTED"
    RETIRED = "RETIRED"  # readable for ever, and never given again


_D = DocumentState

DOCUMENT_TABLE: Final = StateTable(
    initial=_D.UPLOADED,
    targets={
        _D.UPLOADED: frozenset({_D.ACTIVE, _D.REJECTED}),
        _D.ACTIVE: frozenset({_D.RETIRED}),
        _D.REJECTED: frozenset(),
        _D.RETIRED: frozenset(),
    },
)
