import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = {file.stem for file in (ROOT / "refunds" / "proposers").glob("*.py")} - {"__init__"} | {
    f"evaluation.{file.stem}"
    for file in (ROOT / "refunds/proposers/evaluation").glob("*.py")
    if file.stem != "__init__"
}
SETTINGS = {"registry"}  # the one that reads which models a deployment has
NETWORK = {
    *("asking", "attempts", "bounded_transport", "openai_compatible"),
    *("reading_loop", "redis_breaker"),
}
SHOW = "import sys, importlib; [importlib.import_module(n) for n in sys.argv[1:]]; print(*sys.modules)"


def loaded_by(names):
    done = subprocess.run(
        [sys.executable, "-c", SHOW, *(f"refunds.proposers.{name}" for name in sorted(names))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stdout.split())


def packages(modules):
    return {module.partition(".")[0] for module in modules}


def test_no_proposer_knows_django_the_settings_or_the_gateway():
    loaded = loaded_by(MODULES - SETTINGS)

    assert packages(loaded).isdisjoint({"django", "celery", "stripe", "config"})
    assert {
        module for module in loaded if module.startswith("refunds.") and "refunds.proposers" not in module
    } == set()


def test_the_rules_load_no_client():
    loaded = loaded_by(MODULES - SETTINGS - NETWORK)

    assert packages(loaded).isdisjoint({"openai", "httpx2", "redis", "tenacity"})
