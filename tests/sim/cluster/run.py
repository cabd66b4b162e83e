"""Run seeds of the cluster simulation: `python -m tests.sim.cluster.run FIRST [END]`; one line for each."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
import traceback

from moldau.testing.simulation.host import current_host
from tests.sim.cluster.cluster_run import run_seed


class VirtualTime(logging.Formatter):
    """Lines that say when and where in the simulation they were written."""

    def format(self, record: logging.LogRecord) -> str:
        try:
            now = f"{asyncio.get_running_loop().time():.6f}"
        except RuntimeError:
            now = "-"
        return f"{now} {current_host.get(None)} {record.levelname} {super().format(record)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int, help="the seed, or the first of several")
    parser.add_argument("end", type=int, nargs="?", help="the seed after the last one")
    parser.add_argument("--log", action="store_true", help="what the brokers log")
    arguments = parser.parse_args()
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(VirtualTime())
    if not arguments.log:
        handler.setLevel(logging.CRITICAL + 1)  # not the loggers: errors of brokers are failures of the run
    logging.basicConfig(level=logging.INFO if arguments.log else logging.ERROR, handlers=[handler])
    failed = []
    began = time.perf_counter()
    end = arguments.first + 1 if arguments.end is None else arguments.end
    for seed in range(arguments.first, end):
        started = time.perf_counter()
        try:
            outcome = run_seed(seed)
        except Exception:
            failed.append(seed)
            sys.stdout.write(f"seed {seed} failed\n{traceback.format_exc()}\n")
        else:
            sys.stdout.write(f"seed {seed} {time.perf_counter() - started:.2f} s {outcome}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{end - arguments.first} seeds in {time.perf_counter() - began:.0f} s, failed: {failed}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
