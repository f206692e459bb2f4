"""docs/gateway-simulator.md tells of everything that there is, and of nothing else."""

import json
import re
from pathlib import Path

import pytest

from config.demo.gateway_simulator import control, undocumented
from config.demo.gateway_simulator.fault_kinds import PLACES, UNPARSABLE_BODIES, FaultKind
from config.demo.gateway_simulator.knobs import Knob
from config.demo.gateway_simulator.routes import ROUTES
from refunds.gateways.probes.records import Outcome
from tests.conformance.test_adapter_under_every_setting import SCENARIOS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "config/demo/gateway_simulator"
TEXT = (ROOT / "docs/gateway-simulator.md").read_text()


def rows(heading: str) -> dict[str, str]:
    """Return the rows of the table under a heading by what stands in their first column."""
    part = TEXT.partition(f"# {heading}\n")[2].partition("\n#")[0].partition("| --- |")[2]
    return dict(re.findall(r"^\| `([^`]+)` \| (.*) \|$", part, re.MULTILINE))


def test_every_fault_is_described_and_no_other() -> None:
    assert set(rows("Faults")) == {str(kind) for kind in FaultKind}
    for name in (*PLACES, *UNPARSABLE_BODIES):
        assert f"`{name}`" in TEXT


def test_every_setting_is_described_as_it_is() -> None:
    told = rows("What the provider does not document")
    assert list(told) == [one["name"] for one in undocumented.described()]
    for one in undocumented.described():
        values = ", ".join(f"`{json.dumps(choice)}`" for choice in one["choices"])
        assert told[one["name"]] == f"{values} | {one['meaning']} | {one['page']}"


def test_every_knob_of_events_is_described() -> None:
    part = TEXT.partition("### Events on their way")[2].partition("\n#")[0]
    assert all(f"`{name}`" in part for name in Knob.__slots__)


def test_every_control_request_is_described() -> None:
    source = Path(control.__file__).read_text()
    found = re.findall(r'case "(GET|POST|DELETE)", \[([^\]]+)\]', source)
    assert len(found) > 20
    for method, parts in found:
        names = [part.strip() for part in parts.split(",")]
        path = "/".join(part.strip('"') if part.startswith('"') else ":id" for part in names)
        if not path.startswith("webhooks"):
            assert f"`{method} /_sim/{path}`" in TEXT, (method, path)


def test_every_resource_of_the_api_is_described() -> None:
    part = TEXT.partition("## The API")[2].partition("\n## ")[0]
    for method, pattern in ROUTES:
        resource = pattern.split("/*")[0]
        assert f"/{resource}" in part, (method, pattern)


def test_the_outcomes_of_the_check_and_the_number_of_scenarios_are_told() -> None:
    assert all(f"`{outcome}`" in TEXT for outcome in Outcome)
    assert f"through {len(SCENARIOS)} scenarios" in TEXT


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted(PACKAGE.glob("*.py"))
        if re.search(r"raise ApiError|Route\(", path.read_text()) and "control" not in path.stem
    ],
    ids=lambda path: path.stem,
)
def test_every_module_that_answers_names_the_pages_that_it_follows(path: Path) -> None:
    assert re.search(r"docs\.stripe\.com/|\(facts \d", path.read_text())
