"""What clients' batches look like in the broker's files: which codec, which producer."""

from __future__ import annotations

from moldau.records.batch import RecordBatch
from moldau.records.walk import batches
from tests.broker_process import BrokerProcess


def stored_batches(broker: BrokerProcess, topic: str, partition: int = 0) -> list[RecordBatch]:
    """The batches of a partition, checked."""
    found: list[RecordBatch] = []
    (directory,) = broker.data.parent.glob(f"*/{topic}-{partition}")
    for path in sorted(directory.glob("*.log")):
        found += batches(path.read_bytes())
    for batch in found:
        batch.check()
    return found


def codecs_of(broker: BrokerProcess, topic: str) -> set[str]:
    return {batch.compression_type.name.lower() for batch in stored_batches(broker, topic)}


def is_idempotent(broker: BrokerProcess, topic: str) -> bool:
    """Whether all of it comes from one producer with an id, whose sequence numbers have no gap."""
    found = stored_batches(broker, topic)
    sequence = 0
    for batch in found:
        if batch.producer.base_sequence != sequence:
            return False
        sequence = batch.last_sequence + 1
    return len({batch.producer.producer_id for batch in found}) == 1 and found[0].producer.producer_id >= 0
