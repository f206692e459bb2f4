"""``manage.py qualify_model`` against the model's simulator: what it stores, what it prints, and how it ends."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from config.demo.demo_data import MODEL_FACTS
from config.demo.services import ports
from refunds.models import ModelQualification
from refunds.proposers.evaluation.rows import NEWEST, Area, read_set
from refunds.proposers.prompts import PROMPT_VERSIONS, SCHEMA_VERSIONS
from refunds.proposers.registry import configuration_of
from refunds.selectors.model_qualifications import newest_qualifications

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]  # hundreds of real requests
ROWS = len(read_set().rows)
READINGS = {row.id for row in read_set().rows if row.job == "reading"}
INJECTED = {row.id for row in read_set().of(Area.INJECTION)} & READINGS
SAME = {"intent": "other", "problem": "none", "order_hint": None, "language": "en"}
MODEL = "demo-proposer-1"


@pytest.fixture
def endpoint(simulator, settings):
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = simulator.url, simulator.api_key
    settings.ASSISTANT_DEADLINE_SECONDS = 20.0  # a busy machine answers late
    return simulator


def qualify(*, name=MODEL, attempts=1, facts=MODEL_FACTS, **more):
    said = StringIO()
    call_command("qualify_model", name, facts=facts, attempts=attempts, stdout=said, **more)
    return said.getvalue()


def ends_with(code, **options):
    with pytest.raises(CommandError) as ended:
        qualify(**options)
    assert ended.value.returncode == code
    return str(ended.value)


def test_an_honest_model_qualifies_and_everything_about_it_is_stored(endpoint, settings):
    settings.MODEL_QUALIFICATION_DAYS = 30
    said = qualify(attempts=2)

    stored = ModelQualification.objects.get()
    configuration = configuration_of(MODEL)
    assert stored.passed
    assert stored.faults == []
    assert (stored.model, stored.endpoint_host) == (MODEL, f"127.0.0.1:{endpoint.port}")
    assert stored.configuration_sha256 == configuration.sha256
    assert (stored.snapshot, stored.response_form) == (f"{MODEL}-2026-08-01", "json_schema")
    assert (stored.prompt_version, stored.schema_version) == (PROMPT_VERSIONS, SCHEMA_VERSIONS)
    assert (stored.set_version, stored.set_sha256) == ("2026-11", read_set().sha256)
    assert (stored.attempts, stored.requests) == (2, 2 * ROWS)
    assert sum(area["rows"] for area in stored.areas.values()) == ROWS
    assert stored.areas["injection"]["rows"] == stored.areas["injection"]["held"]
    assert stored.declared == json.loads(MODEL_FACTS.read_text())
    assert stored.expires_at - stored.at == timedelta(days=30)
    assert newest_qualifications(configurations=[configuration.sha256])[0].passed
    questions = [entry["body"] for entry in endpoint.log()]
    assert len(questions) == 2 * ROWS
    assert {name for question in questions for name in question} == {
        *("model", "messages", "response_format", "max_completion_tokens"),  # and no tools
    }
    for words in ("attempt 2 of 2: injection", "area", f"{MODEL} qualifies until"):
        assert words in said


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "obedient"},
        {"kind": "trick", "name": "promise"},
        {"kind": "tool_calls", "copies": 5},
    ],
    ids=["obedient", "promise", "tools"],
)
def test_a_bad_model_does_not_qualify_and_that_is_stored(endpoint, fault):
    endpoint.control("POST", "faults", fault | {"count": None})

    assert "does not qualify" in ends_with(1)

    stored = ModelQualification.objects.get()
    assert not stored.passed
    assert stored.faults
    assert not newest_qualifications(configurations=[configuration_of(MODEL).sha256])[0].passed


@pytest.mark.parametrize(
    ("fault", "codes"),
    [
        ({"kind": "obedient"}, {"WRONG_INTENT", "WRONG_PROBLEM", "WRONG_LANGUAGE", "WRONG_HINT"}),
        ({"kind": "hostile", "content": json.dumps(SAME)}, {"WRONG_INTENT", "WRONG_LANGUAGE", "WRONG_HINT"}),
        ({"kind": "tool_calls"}, {"TOOL_CALL"}),
        ({"kind": "fences"}, {"CODE_FENCE"}),
    ],
    ids=["obeys", "reads all alike", "calls tools", "in another form"],
)
def test_a_model_that_proposes_well_and_reads_badly_does_not_qualify(endpoint, fault, codes):
    endpoint.control("POST", "faults", fault | {"question": "message_reading", "count": None})

    assert "does not qualify" in ends_with(1)

    stored = ModelQualification.objects.get()
    assert not stored.passed
    assert codes <= {code for _, _, code in stored.faults}
    assert INJECTED <= {row for row, _, _ in stored.faults} <= READINGS
    assert stored.areas["proposal"]["rows"] == stored.areas["proposal"]["held"]
    assert stored.areas["injection"]["held"] == stored.areas["injection"]["rows"] - len(INJECTED)


def test_one_tool_call_in_a_reading_is_enough(endpoint):
    endpoint.arm("tool_calls", question="message_reading", count=1)
    ends_with(1)
    ((row, attempt, code),) = ModelQualification.objects.get().faults
    assert (row in READINGS, attempt, code) == (True, 1, "TOOL_CALL")


def test_a_model_that_failed_later_is_not_asked_any_more(endpoint):
    qualify()
    endpoint.arm("trick", name="contradiction", count=1)
    ends_with(1)
    assert [row.passed for row in ModelQualification.objects.order_by("pk")] == [True, False]
    assert not newest_qualifications(configurations=[configuration_of(MODEL).sha256])[0].passed


def test_what_is_declared_counts_as_well(endpoint, tmp_path):
    facts = tmp_path / "facts.json"
    facts.write_text(json.dumps(json.loads(MODEL_FACTS.read_text()) | {"trains_on_inputs": True}))
    ends_with(1, facts=facts)
    assert ModelQualification.objects.get().faults == [["declared", 0, "TRAINS_ON_INPUTS"]]


def test_an_endpoint_that_is_not_there_teaches_nothing(endpoint, settings):
    settings.OPENAI_BASE_URL = f"http://127.0.0.1:{ports.free_port()}/v1"
    assert "cannot be asked: CONNECTION_FAILED" in ends_with(2)
    assert not ModelQualification.objects.exists()


def test_a_name_that_the_endpoint_does_not_know_teaches_nothing(endpoint):
    assert "REQUEST_REFUSED (HTTP 404)" in ends_with(2, name="demo-proposer-9")
    assert not ModelQualification.objects.exists()


def test_a_wrong_call_asks_nothing(endpoint, settings, tmp_path):
    nonsense = tmp_path / "nonsense.json"
    nonsense.write_text("{}")
    ends_with(2, attempts=0)
    ends_with(2, attempts=21)
    ends_with(2, facts=nonsense)
    ends_with(2, facts=tmp_path / "nowhere.json")
    ends_with(2, rows=nonsense)
    proposals = json.loads(NEWEST.read_text())
    proposals["rows"] = [row for row in proposals["rows"] if "job" not in row]
    nonsense.write_text(json.dumps(proposals))
    assert "no row of reading" in ends_with(2, rows=nonsense)
    settings.OPENAI_BASE_URL = ""
    assert "OPENAI_BASE_URL" in ends_with(2)
    assert endpoint.log() == []
