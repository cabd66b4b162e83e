"""What a task keeps in memory does not grow with what it reads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from moldau import Producer
from moldau.testing.local_cluster import LocalCluster

pytestmark = pytest.mark.slow

RECORD_BYTES = 10_000
GROWTH_MB_MAX = 100

# Reads a topic as tasks do, and tells how many MB it grew by after the first rows, and how many it has read.
READER = """
import resource, sys
from moldau.pipeline.datasource import MoldauDataSource

def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

made = MoldauDataSource({"kafka.bootstrap.servers": sys.argv[1], "subscribe": sys.argv[2]})
reader = made.reader(made.schema())
size = first = 0
for partition in reader.partitions():
    for batch in reader.read(partition):
        first = first or peak_mb()
        size += batch.nbytes
print(peak_mb() - first, size >> 20)
"""


def test_memory_is_bounded_by_fetches_not_by_the_partition(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic)
    with Producer(bootstrap_servers=cluster.bootstrap_servers, batch_size=200_000, linger_ms=5) as producer:
        for _ in range(40_000):
            producer.send(topic, b"." * RECORD_BYTES)
    done = subprocess.run(
        [sys.executable, "-c", READER, cluster.bootstrap_servers, topic],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    growth_mb, read_mb = map(int, done.stdout.split())
    assert read_mb > 380
    assert growth_mb < GROWTH_MB_MAX
