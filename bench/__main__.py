"""Run benches and print their tables: `python -m bench`, or some of them by name."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from bench import (
    bench_broker,
    bench_cleaner,
    bench_clients,
    bench_cluster,
    bench_coordinators,
    bench_network,
    bench_protocol,
    bench_records,
    bench_spark_read,
    bench_spark_write,
    bench_storage,
    bench_storage_open,
    bench_tools,
)
from bench.measure import Row, table

BENCHES = {
    "protocol": bench_protocol.rows,
    "records": bench_records.rows,
    "network": bench_network.rows,
    "cleaner": bench_cleaner.rows,
    "storage": bench_storage.rows,
    "storage_open": bench_storage_open.rows,
    "broker": bench_broker.rows,
    "coordinators": bench_coordinators.rows,
    "cluster": bench_cluster.rows,
    "clients": bench_clients.rows,
    "tools": bench_tools.rows,
    "spark_read": bench_spark_read.rows,
    "spark_write": bench_spark_write.rows,
}


def main(names: list[str]) -> int:
    unknown = set(names) - set(BENCHES)
    if unknown:
        print(f"no bench {', '.join(sorted(unknown))}; there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores, {cpu()}\n")
    missed: list[Row] = []
    for name in names or BENCHES:
        rows = BENCHES[name]()
        missed += [row for row in rows if row.met is False]
        print(f"## {name}\n\n{table(rows)}\n", flush=True)
    for row in missed:
        print(f"missed: {row.name}: {row.ratio:.2f}, bar {row.bar}", file=sys.stderr)
    return 1 if missed else 0


def cpu() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
