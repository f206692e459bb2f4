"""A demo of stand-in parts: `python -m tests.services.stand_in STATE CASE`, run by the runner's tests.

It reads the same wishes from the environment as the real one.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

from config.demo.runner.console import Console
from config.demo.runner.demo import Wishes, run_demo
from config.demo.runner.probes import answers, listens, says
from config.demo.runner.process import Echo, Plan, Process
from config.demo.runner.state_folder import StateFolder

PAGES = (
    "import http.server, sys\n"
    "class Pages(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        self.send_response(200); self.end_headers(); self.wfile.write(b'up')\n"
    "http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Pages).serve_forever()\n"
)
WORKER = (
    "import subprocess, sys, time\n"
    "pool = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', *sys.argv[1:]])\n"
    "print('ready.', flush=True)\n"
    "time.sleep(600)\n"
)
DIES = "import time; print('ready.', flush=True); time.sleep(1); print('out of ideas'); raise SystemExit(9)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready.', flush=True); time.sleep(600)"


def script(name, text, desk, *arguments, **fields):
    defaults = {"doing": f"doing {name}", "echo": Echo.PREFIXED}
    return Process(
        name=name,
        command=(sys.executable, "-c", text, *arguments, str(desk.state.path)),
        env=desk.env,
        **{**defaults, **fields},
    )


def plan(case):
    def made(desk):
        web = script("web", PAGES, desk, str(desk.web_port), ready=answers(f"{desk.web_url}/livez"))
        gateway = script(
            "gateway", PAGES, desk, str(desk.gateway_port), ready=listens("127.0.0.1", desk.gateway_port)
        )
        worker = script("money", WORKER, desk, ready=says(r"^ready\.$"))
        step = script("migrate", "print('tables made')", desk)
        story = script("story", "import os; print('held', os.environ['DATABASE_URL'])", desk, echo=Echo.PLAIN)
        whole = Plan((gateway, step, web, worker), story, f"open {desk.web_url}")
        cases = {
            "whole": whole,
            "story-fails": replace(whole, story=script("story", "raise SystemExit(4)", desk)),
            "step-fails": replace(
                whole, processes=(gateway, script("migrate", "raise SystemExit('no table')", desk))
            ),
            "never-ready": replace(
                whole, processes=(replace(worker, ready=says("never"), ready_seconds=0.5),)
            ),
            "dies": replace(whole, processes=(web, script("money", DIES, desk, ready=says("ready")))),
            "stubborn": replace(whole, processes=(script("money", STUBBORN, desk, ready=says("ready")),)),
        }
        return cases[case]

    return made


def main():
    path, case = Path(sys.argv[1]), sys.argv[2]
    wishes = Wishes.read(os.environ)
    checkout = Path(__file__).resolve().parents[2]
    return run_demo(StateFolder(path, checkout=checkout), plan(case), wishes, Console(verbose=wishes.logs))


if __name__ == "__main__":
    sys.exit(main())
