"""Patterns mean the same in every Python that is supported.

Until 3.11.5 a possessive repeat of a group (``(...)?+``, ``(...)++``) can match something else than it should: a quote
was swallowed, and a line of JSON was none any more. An atomic group around a plain repeat says the same in all of them.
"""

import importlib
import pkgutil
import re

import pytest

PACKAGES = ("ledger", "policies", "approvals", "notifications", "refunds")
ONE_CHARACTER = {"LITERAL", "NOT_LITERAL", "ANY", "IN"}


def _modules():
    for name in PACKAGES:
        for found in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            if ".migrations" not in found.name and ".management" not in found.name:
                yield importlib.import_module(found.name)


def _patterns_in(value):
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from _patterns_in((*value.keys(), *value.values()))
    elif isinstance(value, tuple | list | set | frozenset):
        for each in value:
            yield from _patterns_in(each)


def _repeats_a_group_possessively(parsed):
    for operation, argument in parsed:
        name = str(operation)
        inner = [part for part in _parts(argument) if isinstance(part, re._parser.SubPattern)]
        if name == "POSSESSIVE_REPEAT" and [str(first) for first, _ in inner[0]] not in [
            [kind] for kind in ONE_CHARACTER
        ]:
            return True
        if any(map(_repeats_a_group_possessively, inner)):
            return True
    return False


def _parts(argument):
    for part in argument if isinstance(argument, tuple | list) else (argument,):
        yield part
        if isinstance(part, tuple | list):
            yield from _parts(part)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("(?P<a>x)?+", True),
        ("y(?:(?!x)z)++", True),
        ("a|(?:b|(?:(c)d)*+)", True),
        ("(q)(?(1)a|(?:bc)++)", True),
        ("(?>(?:(?!x)z)+)", False),
        ("[a-z]++", False),
        (r"\s{0,3}+x?+.*+", False),
    ],
)
def test_such_a_pattern_is_noticed(pattern, found):
    assert _repeats_a_group_possessively(re._parser.parse(pattern)) is found


def test_no_pattern_repeats_a_group_possessively():
    patterns = {
        (module.__name__, pattern.pattern, pattern.flags)
        for module in _modules()
        for value in vars(module).values()
        for pattern in _patterns_in(value)
    }
    assert len(patterns) > 50
    # What was compiled on bytes parses as text just as well.
    wrong = [
        (name, text)
        for name, text, flags in patterns
        if isinstance(text, str) and _repeats_a_group_possessively(re._parser.parse(text, flags))
    ]
    assert wrong == []
