"""A consumer on the bare protocol: finds the leader, fetches, and looks for the new leader when there is one.

All that a consumer does for its user is done by hand here: offsets are counted, records before the wanted offset (the
rest of a batch) are passed over, errors are borne five times, and the leader is asked for again after each.
"""

from __future__ import annotations

import sys
import time

from examples.raw_requests import ask
from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from moldau.records.reader import read_batch
from moldau.records.walk import batches

FETCH_BYTES = 100_000
ERRORS_MAX = 5
READS_MAX = 1000
EARLIEST = -2
CONSUMER = -1


def find_leader(bootstrap_servers: str, topic: str, partition: int) -> str:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    metadata = ask(bootstrap_servers, request, 1, MetadataResponse)
    brokers = {each.node_id: f"{each.host}:{each.port}" for each in metadata.brokers}
    for each in metadata.topics[0].partitions:
        if each.partition_index == partition and each.leader_id in brokers:
            return brokers[each.leader_id]
    raise LookupError(f"{topic}-{partition} has no leader")


def earliest_offset(leader: str, topic: str, partition: int) -> int:
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=EARLIEST)
    request = ListOffsetsRequest(replica_id=CONSUMER, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])])
    return ask(leader, request, 1, ListOffsetsResponse).topics[0].partitions[0].offset


def fetch(leader: str, topic: str, partition: int, offset: int) -> tuple[ErrorCode, bytes]:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
    request = FetchRequest(
        replica_id=CONSUMER,
        max_wait_ms=1000,
        min_bytes=1,
        max_bytes=FETCH_BYTES,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )
    found = ask(leader, request, 4, FetchResponse).responses[0].partitions[0]
    return ErrorCode(found.error_code), bytes(found.records or b"")


def main(
    bootstrap_servers: str = "localhost:9092", topic: str = "my-topic", partition: str = "0", records: str = "1000"
) -> None:
    number, left = int(partition), min(int(records), READS_MAX)
    leader = find_leader(bootstrap_servers, topic, number)
    offset, errors = earliest_offset(leader, topic, number), 0
    while left > 0:
        code, data = fetch(leader, topic, number, offset)
        if code is not ErrorCode.NONE:
            errors += 1
            print(f"Error fetching data from {leader}: {code.name}")
            if errors > ERRORS_MAX:
                return
            time.sleep(1)
            if code is ErrorCode.OFFSET_OUT_OF_RANGE:
                offset = earliest_offset(leader, topic, number)
            else:
                leader = find_leader(bootstrap_servers, topic, number)
            continue
        errors = 0
        for batch in batches(data):
            for record in read_batch(batch):
                if record.offset < offset:
                    print(f"Found an old offset: {record.offset} Expecting: {offset}")
                elif left:
                    print(f"{record.offset}: {(record.value or b'').decode()}")
                    offset = record.offset + 1
                    left -= 1


if __name__ == "__main__":
    main(*sys.argv[1:])
