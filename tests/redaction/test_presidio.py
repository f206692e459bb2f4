"""The optional detector, with a stand-in for the package: same port, never needed."""

import importlib.util
import sys
from dataclasses import dataclass
from types import ModuleType

import pytest

from ledger.intake import IntakeRefusedError, check_message
from ledger.redaction import add_detector, detection, find_in_words, find_sensitive, redact_text
from ledger.redaction.presidio import PACKAGE, PresidioDetector
from refunds.proposers.customer_text import prepare_customer_text

TEXT = "My passport is C03005988, thanks."


@dataclass
class Result:
    entity_type: str
    start: int
    end: int
    score: float = 0.85


class AnalyzerEngine:
    """Answers like Presidio's: this one number, and names, which stay."""

    def analyze(self, *, text, language, entities):
        assert language == "en"
        assert "US_PASSPORT" in entities
        place = text.find("C03005988")
        found = [Result("US_PASSPORT", place, place + 9)] if place >= 0 else []
        return [*found, Result("PERSON", 0, 2), Result("US_ITIN", 0, 2, score=0.1)]


class Broken:
    def analyze(self, **_asked):
        raise RuntimeError(TEXT)


@pytest.fixture
def added(monkeypatch):
    monkeypatch.setattr(detection, "_added", [])
    return add_detector


@pytest.fixture
def installed(monkeypatch):
    package = ModuleType(PACKAGE)
    package.AnalyzerEngine = AnalyzerEngine
    package.__spec__ = importlib.util.spec_from_loader(PACKAGE, loader=None)
    monkeypatch.setitem(sys.modules, PACKAGE, package)


def test_nothing_of_it_is_imported_or_needed():
    assert PACKAGE not in sys.modules
    assert find_in_words(TEXT) == find_sensitive(TEXT) == []


def test_a_deployment_that_asks_for_it_without_the_package_does_not_start():
    with pytest.raises(ImportError, match="presidio-analyzer"):
        PresidioDetector()


def test_it_looks_at_what_people_write_and_at_prompts_but_not_at_the_log(installed, added):
    added(PresidioDetector())
    kept = check_message(TEXT)
    assert kept == "My passport is [identity number removed], thanks."
    assert check_message(kept) == kept
    assert prepare_customer_text(TEXT) == "My passport is […], thanks."
    assert redact_text(TEXT) == TEXT


def test_ours_go_on_beside_it_and_when_it_fails(added):
    added(PresidioDetector(Broken()))
    assert check_message(f"{TEXT} password: kettle1") == f"{TEXT} password: [password removed]"
    with pytest.raises(IntakeRefusedError):
        check_message("4242 4242 4242 4242")
