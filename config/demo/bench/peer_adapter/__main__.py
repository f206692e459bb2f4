"""``setup`` prepares the database, ``serve`` starts the product and answers on ``PORT``; see the package."""

import asyncio
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from config.demo.bench.client import Client
from config.demo.bench.options import Options
from config.demo.bench.peer_adapter.mailbox import receiving
from config.demo.bench.peer_adapter.translation import Addresses, Translation
from config.demo.bench.product import PYTHON, PidKeeper, Product
from config.demo.bench.rig import CHECKOUT
from config.demo.bench.stubs import serving
from config.demo.runner.console import Console
from config.demo.runner.desk import Desk, open_desk
from config.demo.runner.state_folder import StateFolder
from config.demo.services import ports, redis
from config.demo.services.stopping import StopRequestedError, StopRequests

NO_BROKER: Final = "redis://127.0.0.1:1/0"
WATCH_SECONDS: Final = 0.2


def main() -> int:
    """The exit code."""
    if sys.argv[1:] == ["setup"]:
        _set_up()
        return 0
    try:
        with StopRequests() as requests, ExitStack() as stack:
            asyncio.run(_serve(requests, stack))
    except StopRequestedError as request:
        return request.exit_code
    return 0


def _desk(broker: str) -> Desk:
    folder = Path(os.environ["BENCH_DIR"]) / "product"
    folder.mkdir(exist_ok=True)
    state = StateFolder(folder, checkout=CHECKOUT)
    state.make_folders()
    return open_desk(state, database_url=os.environ["DATABASE_URL"], redis_url=broker)


def _set_up() -> None:
    product = Product(Options(), _desk(NO_BROKER))
    for words in (
        ("django", "migrate", "--no-input", "-v", "0"),
        ("django", "bench_seed", os.environ["ORDERS"], str(_tokens(product))),
    ):
        subprocess.run((PYTHON, "-m", *words), env=product.everything_env, cwd=CHECKOUT, check=True)


async def _serve(requests: StopRequests, stack: ExitStack) -> None:
    broker = redis.start(check=requests.check)
    stack.callback(broker.stop)
    desk, mail_port = _desk(broker.url), ports.free_port()
    options = replace(Options(), slots=int(os.environ["BENCH_SLOTS"]))
    product = Product(options, desk, {"EMAIL_URL": f"smtp://{ports.HOST}:{mail_port}"})
    translation = Translation(
        Client(desk.web_port),
        _tokens(product).read_text().split(),
        Addresses(os.environ["GATEWAY_URL"], os.environ["LLM_URL"], os.environ["NOTIFY_URL"]),
    )
    supervisor = PidKeeper(cwd=CHECKOUT, logs=desk.state.logs, console=Console(), requests=requests)
    stack.callback(supervisor.stop_all)
    await asyncio.to_thread(product.start, supervisor)
    await asyncio.start_server(serving(translation.gateway), ports.HOST, desk.gateway_port)
    await asyncio.start_server(serving(translation.model), ports.HOST, desk.model_port)
    await asyncio.start_server(receiving(translation.delivered), ports.HOST, mail_port)
    await asyncio.start_server(serving(translation.front), ports.HOST, int(os.environ["PORT"]))
    while True:
        supervisor.watch()
        await asyncio.sleep(WATCH_SECONDS)


def _tokens(product: Product) -> Path:
    return product.desk.state.path / "tokens"


if __name__ == "__main__":
    sys.exit(main())
