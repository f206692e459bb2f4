"""Finds what lets somebody in: headers, cookies, tokens, keys, and members that are named after them. Pure.

Every pattern has a group ``value``, which is what goes; the name before it stays, so that a reader knows what stood
there. What is masked already is no value.
"""

import re
from collections.abc import Iterator
from typing import Final

from ledger.redaction.kinds import Kind, Span

# What a policy put there: [REDACTED], [password removed], […].
MASKED: Final = r"\[(?:REDACTED|\u2026|[a-z\-]{3,10}(?: [a-z]{3,10}){1,3})\]"
NOT_MASKED: Final = rf"(?!{MASKED})"
# A quoted value ends at its own quote, any other at the next sign that ends one.
SEPARATOR: Final = r"""(?:\\?["'])?\s{0,3}(?>=>|->|:=|[=:])\s{0,3}+(?>(?P<quote>\\?["'])?)"""
QUOTED: Final = r"(?>(?:(?!(?P=quote))[^\r\n])+)"

_SCHEMES: Final = r"(?:bearer|basic|token|digest|negotiate|apikey|key|hmac|hawk|aws4-hmac-sha256|signature)"
_AUTHORIZATION: Final = re.compile(
    rf"\b(?:proxy-|x-)?authorization{SEPARATOR}(?P<value>{NOT_MASKED}"
    rf"(?(quote){QUOTED}|(?:{_SCHEMES}\s[^\r\n]++|(?=\S*[0-9]|\S{{12}})[^\s\"']++)))",
    re.IGNORECASE,
)
_COOKIE: Final = re.compile(
    rf"\b(?:set-)?cookies?{SEPARATOR}(?P<value>{NOT_MASKED}(?(quote){QUOTED}|[^\s=;,]{{1,100}}=[^\r\n]++))",
    re.IGNORECASE,
)
_SIGNED: Final = re.compile(
    rf"\b(?:x-api-key|stripe-signature|x-[a-z\-]{{1,30}}-(?:token|signature|secret)){SEPARATOR}"
    rf"(?P<value>{NOT_MASKED}(?(quote){QUOTED}|[^\r\n]++))",
    re.IGNORECASE,
)
_END: Final = r"[^\s,;&\"'<>}\])]"
_PLAIN_WORDS: Final = (
    r"(?!(?:expired|invalid|missing|required|none|null|true|false|unknown|wrong|not"
    r"|the|is|was|an?|my|i|your)\b)"
)
_NAMED: Final = re.compile(
    r"(?:(?P<cookie>session[_\- ]?(?:id|key)|(?:php|j|asp\.net_)sess(?:ion)?id|[cx]srf[a-z_\-]{0,20}|connect\.sid)"
    r"|(?P<key>secret|(?:api|secret|access|private|signing)[_\- ]?key(?:[_\- ]?id)?)"
    rf"|token){SEPARATOR}(?P<value>{NOT_MASKED}{_PLAIN_WORDS}(?(quote){QUOTED}|{_END}++))",
    re.IGNORECASE,
)
_SAID: Final = re.compile(
    r"\b(?P<key>(?:api|secret|access|private|signing) ?key|(?:access |api |auth |session |refresh |bearer )?token)"
    r" (?:is|was|ist|est|es|=)?:? ?[\"'`]?"
    r"(?P<value>(?!removed\])(?=[^\s\"']*[0-9])(?=[^\s\"']*[A-Za-z])[^\s\"'`,;]{8,}+)",
    re.IGNORECASE,
)
_OTHER_BEARER: Final = (
    r"(?!(?:tokens?|auth[a-z]*|shares?|bonds?|credentials?|certificates?|scheme|header|realm)\b)"
)
_BEARER: Final = re.compile(
    rf"\bbearer\s{{1,3}}+(?P<value>{NOT_MASKED}{_OTHER_BEARER}(?=[A-Za-z._~+/\-]*+[0-9=]|[^\s,;]{{8}})"
    r"[A-Za-z0-9._~+/\-]{4,}+=*+)",
    re.IGNORECASE,
)
_SCHEME: Final = re.compile(
    r"\b(?:basic|token|digest)\s{1,3}+(?P<value>(?=[A-Za-z._~+/\-]*+[0-9=])[A-Za-z0-9._~+/\-]{12,}+=*+)",
    re.IGNORECASE,
)
_JWT: Final = re.compile(r"(?<![A-Za-z0-9_\-])(?P<value>eyJ[A-Za-z0-9_\-]{8,}+(?:\.[A-Za-z0-9_\-]++){0,4})")
# The prefixes that issuers gave their keys so that they are found.
_PREFIXED: Final = re.compile(
    r"(?<![A-Za-z0-9])(?P<value>(?:sk|rk)_[A-Za-z0-9_]{4,}+|(?:pk|ak|api|key)_(?:live|test|prod)_[A-Za-z0-9]{4,}+"
    r"|whsec_[A-Za-z0-9+/_]{4,}+=*|sk-[A-Za-z0-9_\-]{12,}+|gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_[A-Za-z0-9_]{20,}+"
    r"|glpat-[A-Za-z0-9_\-]{16,}+|xox[abeoprs]-[A-Za-z0-9\-]{10,}+|xapp-[A-Za-z0-9\-]{10,}+|npm_[A-Za-z0-9]{20,}+"
    r"|pypi-[A-Za-z0-9_\-]{16,}+"
    r"|hf_[A-Za-z0-9]{20,}+|AIza[A-Za-z0-9_\-]{20,}+|ya29\.[A-Za-z0-9_\-]{10,}+|(?:AKIA|ASIA)[0-9A-Z]{16}"
    r"|SG\.[A-Za-z0-9_\-]{8,}+\.[A-Za-z0-9_\-]{8,}+|shp(?:at|ss|ca|pa)_[0-9a-fA-F]{16,}+|dop_v1_[0-9a-f]{16,}+)"
)
_CLIENT_SECRET: Final = re.compile(r"_secret_(?P<value>[A-Za-z0-9]{6,}+)")
_PEM: Final = re.compile(
    r"(?P<value>-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]{0,30}-----|\Z))",
    re.DOTALL,
)
# What stands before the host of an address: all of it, or a name and a password that may hold a slash.
_URL_USER: Final = re.compile(
    rf"://(?P<value>{NOT_MASKED}(?:[^\s\"'<>/@]{{1,300}}"
    r"|[^\s\"'<>/:@]{0,100}:(?![0-9]{1,5}(?:/|\s|\Z))[^\s\"'<>]{1,300}))@"
)
_PATTERNS: Final[tuple[tuple[re.Pattern[str], Kind], ...]] = (
    (_AUTHORIZATION, Kind.TOKEN),
    (_COOKIE, Kind.COOKIE),
    (_SIGNED, Kind.KEY),
    (_NAMED, Kind.TOKEN),
    (_SAID, Kind.TOKEN),
    (_BEARER, Kind.TOKEN),
    (_SCHEME, Kind.TOKEN),
    (_JWT, Kind.TOKEN),
    (_PREFIXED, Kind.KEY),
    (_CLIENT_SECRET, Kind.KEY),
    (_PEM, Kind.KEY),
    (_URL_USER, Kind.PASSWORD),
)


def find_credentials(plain: str) -> Iterator[Span]:
    """Yield headers' values, cookies, tokens, keys and the user part of addresses."""
    for pattern, kind in _PATTERNS:
        for match in pattern.finditer(plain):
            yield Span(_kind_of(match, kind), *match.span("value"))


def _kind_of(match: re.Match[str], otherwise: Kind) -> Kind:
    named = match.groupdict()
    if named.get("cookie"):
        return Kind.COOKIE
    key = named.get("key") or ""
    return Kind.KEY if key and not key.lower().endswith("token") else otherwise
