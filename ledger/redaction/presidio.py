"""An optional detector beside ours: Microsoft Presidio, where a deployment installed it (``presidio-analyzer``).

It is asked for what ours do not know, numbers that say who somebody is, and looks at what people write, at the door
and before a prompt; never at lines of the log. Nothing needs it, and its absence or failure leaves our own detectors
at work. These numbers are patterns and check digits, so no language model is loaded, and nothing is fetched.
"""

import importlib
import importlib.util
import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

import structlog

from ledger.redaction.kinds import Kind, Span

PACKAGE: Final = "presidio_analyzer"
# Presidio's own name for the texts; its patterns below are looked for in every language.
_LANGUAGE: Final = "en"
_LEAST_SCORE: Final = 0.4  # of 1: a form that the words around it name, or one with a check digit
# Its recogniser of e-mail addresses fetches a list at the first one, and telephone numbers to it are many order
# numbers: of those, cards and bank accounts, ours know more. Numbers of firms and vehicles say nothing of a person.
_RECOGNIZERS: Final = (
    *("UsSsnRecognizer", "UsItinRecognizer", "UsPassportRecognizer", "UsLicenseRecognizer"),
    *("NhsRecognizer", "UkNinoRecognizer", "UkPassportRecognizer", "UkDrivingLicenceRecognizer"),
    *("DeSocialSecurityRecognizer", "DeTaxIdRecognizer", "EsNifRecognizer", "EsNieRecognizer"),
    *("ItFiscalCodeRecognizer", "PlPeselRecognizer", "FiPersonalIdentityCodeRecognizer"),
    "SePersonnummerRecognizer",
)
_NEAR: Final = 40  # characters
_NAMED: Final = re.compile(
    r"passport|reisepass|pasaporte|passeport|paspoort|passaporto"
    r"|social sec|\bssns?\b|\bitins?\b|taxpayer|national insurance|\bnino?\b|\bnhs\b|health service"
    r"|driv\w{1,4}'?s? licen|steuer-?\s?id|steueridentifikation|sozialversicherung|rentenversicherung"
    r"|\bdni\b|\bnif\b|\bnie\b|codice fiscale|\bpesel\b|personal identity|identity (?:code|number)"
    r"|henkil\u00f6tunnus|\bhetu\b|personnummer"
)
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
        return self._given or _make_analyzer()

    def __call__(self, text: str) -> Iterable[Span]:
        """Return the identity numbers in a text; none where Presidio fails."""
        try:
            results = self._analyzer.analyze(text=text, language=_LANGUAGE)
            return [
                Span(Kind.IDENTITY, result.start, result.end)
                for result in results
                if result.score >= _LEAST_SCORE and _is_whole(text, result) and _is_named(text, result)
            ]
        except Exception as error:  # noqa: BLE001 - whatever it raises, the customer's request goes on
            logger.warning("redaction.detector_failed", error=type(error).__name__)
            return []


def _is_whole(text: str, result: Any) -> bool:
    """Say whether a find is a number of its own, and no part of a longer one such as a parcel's."""
    before, after = text[: result.start][-2:], text[result.end :][:2]
    joined = (before[-1:].isalnum(), after[:1].isalnum(), _continues(before[::-1]), _continues(after))
    return not any(joined)


def _continues(beyond: str) -> bool:
    return beyond[:1] in {"-", "_", "/"} and beyond[1:].isalnum()


def _is_named(text: str, result: Any) -> bool:
    """Say whether the words around a find call it what it is: order numbers look the same, and must stay."""
    around = text[max(0, result.start - _NEAR) : result.end + _NEAR]
    return _NAMED.search(around.casefold()) is not None


def _make_analyzer() -> Any:
    """Return an analyzer with these recognisers alone, and with words that are split and nothing more."""
    package, nlp_engine = map(importlib.import_module, (PACKAGE, f"{PACKAGE}.nlp_engine"))
    known = importlib.import_module(f"{PACKAGE}.predefined_recognizers")
    recognizers = [getattr(known, name)(supported_language=_LANGUAGE) for name in _RECOGNIZERS]
    engine = nlp_engine.SpacyNlpEngine()
    engine.nlp = {_LANGUAGE: _make_splitter()}  # which leaves it nothing to load
    return package.AnalyzerEngine(
        registry=package.RecognizerRegistry(recognizers=recognizers, supported_languages=[_LANGUAGE]),
        nlp_engine=engine,
        supported_languages=[_LANGUAGE],
    )


def _make_splitter() -> Any:
    """Return a pipeline that splits a text into words; each is its own dictionary form, which Presidio compares."""
    pipeline = importlib.import_module("spacy").blank(_LANGUAGE)
    split = pipeline.tokenizer

    def split_words(text: str) -> Any:
        words = split(text)
        for word in words:
            word.lemma_ = word.lower_
        return words

    pipeline.tokenizer = split_words
    return pipeline
