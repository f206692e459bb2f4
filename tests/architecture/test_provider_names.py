"""Nothing that executes a refund knows a provider by name: it knows the port, and the record of the provider."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "refunds"
EXECUTOR = (
    "stages",
    "pipeline.py",
    "recovery.py",
    "verdicts",
    "evidence",
    "actions",
    "facts.py",
    "nudges.py",
)
PROVIDER = re.compile(r"(?i)stripe|adyen|paypal|braintree")


def sources(part):
    path = ROOT / part
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def names(source):
    """Return every name and text that names a provider; comments and docstrings may cite its pages."""
    prose = {node.value.lineno for node in ast.walk(ast.parse(source)) if _is_prose(node)}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [
        (token.start[0], token.string)
        for token in tokens
        if PROVIDER.search(token.string)
        and (token.type == tokenize.NAME or (token.type == tokenize.STRING and token.start[0] not in prose))
    ]


def _is_prose(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@pytest.mark.parametrize("part", EXECUTOR)
def test_the_executor_knows_no_provider_by_name(part):
    found = {path.name: names(path.read_text()) for path in sources(part)}
    assert found, f"nothing to look at in {part}"
    assert {name: where for name, where in found.items() if where} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "from refunds.gateways.contract import STRIPE_V1\n",
        'if contract.provider == "stripe":\n    pass\n',
        "import refunds.gateways.stripe_events\n",
        "def paypal_only(): ...\n",
    ],
)
def test_a_name_is_found_where_it_is_planted(planted):
    assert names(planted)


def test_a_page_may_be_cited():
    assert names('"""docs.stripe.com/refunds"""\nLIMIT = 3  # docs.stripe.com/rate-limits\n') == []
