"""What can be sensitive in a text, and a place where it stands. Pure."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final, NamedTuple


class Kind(StrEnum):
    """The kinds of sensitive data; their order is the order in which they are named to people."""

    CARD_NUMBER = "CARD_NUMBER"
    SECURITY_CODE = "SECURITY_CODE"  # of a card: CVV, CVC
    IBAN = "IBAN"
    PASSWORD = "PASSWORD"  # noqa: S105 - a kind; also a PIN and a one-time code
    TOKEN = "TOKEN"  # noqa: S105 - a kind: what stands for a signed-in caller, bearer tokens and JWTs
    COOKIE = "COOKIE"
    KEY = "KEY"  # API keys, signing secrets, private keys
    EMAIL = "EMAIL"
    PHONE = "PHONE"
    IDENTITY = "IDENTITY"  # found by an added detector only: numbers of passports, insurances, accounts


NAMES: Final = {
    Kind.CARD_NUMBER: "card number",
    Kind.SECURITY_CODE: "security code",
    Kind.IBAN: "bank account number",
    Kind.PASSWORD: "password",
    Kind.TOKEN: "access token",
    Kind.COOKIE: "cookie",
    Kind.KEY: "secret key",
    Kind.EMAIL: "e-mail address",
    Kind.PHONE: "phone number",
    Kind.IDENTITY: "identity number",
}


class Span(NamedTuple):
    """One find: the characters ``text[start:end]`` are of this kind."""

    kind: Kind
    start: int
    end: int


Detector = Callable[[str], Iterable[Span]]
