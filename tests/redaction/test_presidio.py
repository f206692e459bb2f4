"""The optional detector: with a stand-in, and with the package itself where it is installed; never needed."""

import importlib.util
import re
import socket
import subprocess
import sys
from dataclasses import dataclass

import pytest

from ledger.intake import IntakeRefusedError, check_message
from ledger.redaction import add_detector, detection, find_in_words, find_sensitive, redact_text
from ledger.redaction.presidio import PACKAGE, PresidioDetector
from refunds.proposers.customer_text import prepare_customer_text
from tests.redaction.rows import LOOK_ALIKES

TEXT = "My passport is C03005988, thanks."


@dataclass
class Result:
    entity_type: str
    start: int
    end: int
    score: float


class StandIn:
    """Answers like Presidio's: a form that it is unsure of, and one that it is sure of."""

    def analyze(self, *, text, language):
        assert language == "en"
        return [
            Result("US_PASSPORT", found.start(), found.end(), score)
            for pattern, score in ((r"C0\d{7}", 0.45), (r"\d{9}", 0.05), (r"\d{3}-\d{2}-\d{4}", 0.85))
            for found in re.finditer(pattern, text)
        ]


class Broken:
    def analyze(self, **_asked):
        raise RuntimeError(TEXT)


@pytest.fixture
def added(monkeypatch):
    monkeypatch.setattr(detection, "_added", [])
    return add_detector


@pytest.fixture(params=["stand-in", "package"])
def presidio(request):
    """Return the detector, over a stand-in and over the package."""
    if request.param == "stand-in":
        return PresidioDetector(StandIn())
    return request.getfixturevalue("package")


@pytest.fixture
def package(monkeypatch):
    """Return the detector over the package, which may not reach any network."""
    pytest.importorskip(PACKAGE, reason="pip install --require-hashes -r requirements/presidio.txt")
    monkeypatch.setattr(socket, "getaddrinfo", _no_network)
    monkeypatch.setattr(socket.socket, "connect", _no_network)
    return PresidioDetector()


def _no_network(*_args, **_kwargs):
    raise AssertionError("Presidio looked for the network")


def test_nothing_of_it_is_imported_or_needed():
    command = "import ledger.redaction, ledger.redaction.presidio, sys; sys.exit('presidio_analyzer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], check=False).returncode == 0
    assert find_in_words(TEXT) == find_sensitive(TEXT) == []


def test_a_deployment_that_asks_for_it_without_the_package_does_not_start(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", {PACKAGE: None}.__getitem__)
    with pytest.raises(ImportError, match="presidio-analyzer"):
        PresidioDetector()


def test_it_looks_at_what_people_write_and_at_prompts_but_not_at_the_log(presidio, added):
    added(presidio)
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


IDENTITIES = (
    "ssn: 536904399",
    "My social security number is 536-90-4399.",
    "passport number 912803456",
    "my passport number is AB1234567",
    "My driver's license is H12234567, does that help?",
    "driving licence MORGA657054SM9IJ",
    "my NHS number is 401-023-2137",
    "national insurance number AB 12 34 56 C",
    "Meine Sozialversicherungsnummer ist 15070649C103",
    "Steuer-ID 86095742719",
    "mi DNI es 12345678Z",
    "NIE X9613851N",
    "codice fiscale RSSMRA85T10A562S",
    "PESEL 44051401359",
    "henkil\u00f6tunnus 131052-308T",
    "personnummer 900101-0017",
)
# Each passes for one of these numbers, and is none.
ORDERS = (
    "order 44051401359",
    "I clicked on order A12345678",
    "a customer of yours, order 912803456",
    "order 112-7794523-9912345",
    "order 401-023-2137",
    "order 86095742719 for 49.00",
    "parcel 420941029400111899223197428490",
)


def test_the_package_finds_what_the_words_around_it_call_a_number_of_a_person(package):
    found = {text: [text[span.start : span.end] for span in package(text)] for text in IDENTITIES}
    missed = [text for text, numbers in found.items() if list(map(_digits, numbers)) != [_digits(text)]]
    assert missed == []


def _digits(text):
    return "".join(filter(str.isdigit, text))


def test_neither_takes_what_only_looks_like_one(presidio):
    assert [text for text in (*ORDERS, *LOOK_ALIKES) if list(presidio(text))] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("passport C03005988", ["C03005988"]),
        ("My C03005988, the passport", ["C03005988"]),
        ("passport " + "x" * 60 + " C03005988", []),
        ("order C03005988", []),
        ("passport C030059881", []),
        ("passport XC03005988", []),
        ("passport C03005988-7", []),
        ("passport 7/C03005988", []),
        ("passport (C03005988)", ["C03005988"]),
        ("passport C03005988-", ["C03005988"]),
        ("", []),
    ],
)
def test_a_find_is_a_whole_number_that_the_words_nearby_name(text, found):
    assert [text[span.start : span.end] for span in PresidioDetector(StandIn())(text)] == found
