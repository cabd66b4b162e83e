"""What a broker has stored, read with plain requests and not with the clients that are tested."""

from __future__ import annotations

from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.records.batch import RecordBatch
from moldau.records.reader import read_batch
from moldau.records.record import Record
from moldau.records.walk import batches
from moldau.testing.local_cluster import LocalCluster

_VERSION = 11  # the newest with names of topics
_BYTES_MAX = 50_000_000


def stored_batches(cluster: LocalCluster, topic: str, partition: int, *, committed: bool = False) -> list[RecordBatch]:
    """All batches of a partition; with `committed` without those of aborted transactions."""
    asked = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=_BYTES_MAX)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_BYTES_MAX,
        isolation_level=1 if committed else 0,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )
    answer = cluster.request(request, _VERSION).responses[0].partitions[0]
    assert answer.error_code == 0
    found = [] if answer.records is None else list(batches(bytes(answer.records)))
    return [batch for batch in found if not committed or not _aborted(batch, found)]


def _aborted(batch: RecordBatch, found: list[RecordBatch]) -> bool:
    """Whether the next marker of the batch's producer says that its transaction was aborted."""
    if not batch.is_transactional or batch.is_control:
        return False
    for later in found:
        same = later.producer.producer_id == batch.producer.producer_id
        if later.is_control and same and later.base_offset > batch.base_offset:
            (marker,) = read_batch(later)
            return (marker.key or b"")[2:4] == b"\0\0"
    return True


def stored(cluster: LocalCluster, topic: str, partition: int, *, committed: bool = False) -> list[Record]:
    """All records of a partition, without markers."""
    return [
        record
        for batch in stored_batches(cluster, topic, partition, committed=committed)
        if not batch.is_control
        for record in read_batch(batch)
    ]
