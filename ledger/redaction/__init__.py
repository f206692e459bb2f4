"""The one redactor: what must not be stored, sent or logged, found in any text or value. Pure.

Detectors find places of a kind; policies on top say what becomes of them. ``redact`` and ``redact_text`` mask every
kind for logs, traces, error reports and exports: there they are the second guard, since ids and codes are written
and never what people wrote. ``find_in_words`` serves the door (``ledger.intake``) and prompts. Redacting what is
redacted changes nothing.
"""

from ledger.redaction.detection import add_detector, find_in_words, find_sensitive, mask
from ledger.redaction.kinds import NAMES, Detector, Kind, Span
from ledger.redaction.names import is_sensitive
from ledger.redaction.values import MASK, redact, redact_text

__all__ = [
    "MASK",
    "NAMES",
    "Detector",
    "Kind",
    "Span",
    "add_detector",
    "find_in_words",
    "find_sensitive",
    "is_sensitive",
    "mask",
    "redact",
    "redact_text",
]
