"""An optional detector beside ours: Microsoft Presidio, where a deployment installed it (``presidio-analyzer``).

It looks at what people write, at the door and before a prompt; never at lines of the log, for which a language model
is too slow. Nothing needs it, and its absence or failure leaves our own detectors at work.
"""

import importlib
import importlib.util
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

import structlog

from ledger.redaction.kinds import Kind, Span

PACKAGE: Final = "presidio_analyzer"
_LANGUAGE: Final = "en"
_LEAST_SCORE: Final = 0.6  # of 1; below it Presidio guesses from digits alone
# Presidio's entities that have a kind here. Names and places stay: a request cannot be understood without them.
_KINDS: Final = {
    "CREDIT_CARD": Kind.CARD_NUMBER,
    "IBAN_CODE": Kind.IBAN,
    "EMAIL_ADDRESS": Kind.EMAIL,
    "PHONE_NUMBER": Kind.PHONE,
    "CRYPTO": Kind.IDENTITY,
    "MEDICAL_LICENSE": Kind.IDENTITY,
    "US_BANK_NUMBER": Kind.IDENTITY,
    "US_DRIVER_LICENSE": Kind.IDENTITY,
    "US_ITIN": Kind.IDENTITY,
    "US_PASSPORT": Kind.IDENTITY,
    "US_SSN": Kind.IDENTITY,
    "UK_NHS": Kind.IDENTITY,
    "UK_NINO": Kind.IDENTITY,
}
logger = structlog.get_logger("redaction")


class PresidioDetector:
    """Asks Presidio's analyzer; ``analyzer`` is any object with its ``analyze``, by default one made at first use."""

    def __init__(self, analyzer: Any = None) -> None:
        """Raise ImportError where the package is not installed, so that a wrong setting stops the start."""
        if analyzer is None and importlib.util.find_spec(PACKAGE) is None:
            raise ImportError("PERSONAL_DATA_DETECTOR=presidio needs the package presidio-analyzer")
        self._given = analyzer

    @cached_property
    def _analyzer(self) -> Any:
        return self._given or importlib.import_module(PACKAGE).AnalyzerEngine()

    def __call__(self, text: str) -> Iterable[Span]:
        """Return Presidio's finds of the kinds that are known here; none where it fails."""
        try:
            results = self._analyzer.analyze(text=text, language=_LANGUAGE, entities=list(_KINDS))
            return [
                Span(_KINDS[result.entity_type], result.start, result.end)
                for result in results
                if result.score >= _LEAST_SCORE and result.entity_type in _KINDS
            ]
        except Exception as error:  # noqa: BLE001 - whatever it raises, the customer's request goes on
            logger.warning("redaction.detector_failed", error=type(error).__name__)
            return []
