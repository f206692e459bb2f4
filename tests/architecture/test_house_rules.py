"""House rules that no linter knows."""

import ast
import re
from pathlib import Path

import pytest
from django.apps import apps
from django.db import models

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("config", "refunds", "approvals", "notifications", "policies", "ledger")
SOURCES = [
    path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts
]
STAGES = sorted((ROOT / "refunds/stages").glob("s[0-9]*.py"))


def test_the_stages_folder_lists_the_thirteen_stages():
    assert [path.stem for path in STAGES] == [
        "s01_authorize_request", "s02_open_workflow", "s03_retrieve_policy", "s04_retrieve_payments",
        "s05_establish_duplicate", "s06_propose_action", "s07_validate_proposal", "s08_obtain_approval",
        "s09_create_operation", "s10_submit_refund", "s11_reconcile_outcome", "s12_commit_evidence",
        "s13_notify_customer",
    ]  # fmt: skip


@pytest.mark.parametrize("path", STAGES, ids=lambda path: path.stem)
def test_a_stage_says_its_number_and_its_failure_destination(path):
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    number = int(path.stem[1:3])
    assert docstring.startswith(f"Stage {number}. ")
    if number != 12:
        for part in ("Input:", "Output:", "Failure destination:"):
            assert part in docstring


def test_no_source_file_exceeds_400_lines_and_none_is_called_utils():
    assert {p.name for p in SOURCES} & {"utils.py", "helpers.py", "misc.py"} == set()
    assert [p for p in SOURCES if len(p.read_text().splitlines()) > 400] == []


def test_no_function_exceeds_forty_lines_of_code():
    long = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                if body and body[-1].end_lineno - body[0].lineno + 1 > 40:
                    long.append(f"{path.relative_to(ROOT)}:{node.name}")
    assert long == []


def test_stage_numbers_appear_in_code_only_in_the_stages():
    numbered = re.compile(r"(?i)(?<!\")[\"']stage[_ ]?\d")
    found = [p for p in SOURCES if "stages" not in p.parts and numbered.search(p.read_text())]
    assert found == []


def test_no_float_or_decimal_column_exists():
    forbidden = (models.FloatField, models.DecimalField)
    ours = [m for m in apps.get_models() if m.__module__.split(".")[0] in PACKAGES]
    assert len(ours) >= 25
    assert [f for m in ours for f in m._meta.get_fields() if isinstance(f, forbidden)] == []


def test_only_the_writer_assigns_a_state_and_nobody_uses_signals():
    """``.update(state=...)`` goes round the writer; a signal hides who calls whom."""
    writes = re.compile(r"\.update\([^)]*\bstate(_sequence)?=")
    signals = re.compile(r"django\.dispatch|django\.db\.models\.signals|post_transition|pre_transition")
    for path in SOURCES:
        text = path.read_text()
        assert not writes.search(text), path
        assert not any(_assigns_state(node) for node in ast.walk(ast.parse(text))), path
        assert not signals.search(text), path


def _assigns_state(node):
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(target, ast.Attribute) and target.attr == "state" for target in targets)


def test_every_foreign_key_of_evidence_protects_what_it_refers_to():
    """An account or order that is deleted must not take evidence with it."""
    for model in apps.get_models():
        if model.__module__.split(".")[0] not in PACKAGES:
            continue
        for field in model._meta.get_fields():
            if isinstance(field, models.ForeignKey):
                assert field.remote_field.on_delete in {models.PROTECT, models.SET_NULL}, field
