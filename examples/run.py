"""A broker, orders and the pipeline, until Ctrl-C: `make run`."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
from pathlib import Path

from examples.orders_shop import Generator, PipelineProcess, make_topics
from moldau.testing.local_cluster import LocalCluster

PORT = 9092
RATE = 200
LOOK_EVERY_S = 0.5


def main() -> int:
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stopping.set())
    with tempfile.TemporaryDirectory(prefix="moldau-run-") as folder:
        return run(Path(folder), stopping)


def run(folder: Path, stopping: threading.Event, port: int = PORT, rate: int = RATE) -> int:
    log = folder / "pipeline.log"
    with LocalCluster({"listeners": f"PLAINTEXT://127.0.0.1:{port}"}) as cluster:
        servers = cluster.bootstrap_servers
        make_topics(cluster)
        generator = Generator(servers, rate)
        generator.start()
        pipeline = PipelineProcess(servers, folder / "checkpoint", log)
        print(f"a broker listens on {servers}, {rate} orders a second go into the topic orders; Ctrl-C ends it all")
        print(f"the pipeline's progress is in {log}; look around with:")
        for line in hints(servers):
            print(f"  {line}")
        try:
            while not stopping.wait(LOOK_EVERY_S):
                if not pipeline.is_running:
                    print(f"the pipeline has ended:\n{log.read_text()[-3000:]}", file=sys.stderr)
                    return 1
            print("stopping")
            return pipeline.stop()
        finally:
            generator.stop()
            if pipeline.is_running:
                pipeline.kill()


def hints(servers: str) -> list[str]:
    where = f"--bootstrap-server {servers}"
    return [
        f".venv/bin/kafka-consumer-groups {where} --describe --group orders-checked",
        f".venv/bin/kafka-console-consumer {where} --topic order-totals --isolation-level read_committed",
    ]


if __name__ == "__main__":
    sys.exit(main())
