"""The codec beside kafka-python 3's, which also compiles its schemas: same messages, same values, same run."""

from __future__ import annotations

import subprocess
import sys
import uuid
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.measure import Row, compare, table

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from kafka.protocol import consumer, metadata, producer

from moldau.protocol.codec import decode, encode
from moldau.protocol.messages import fetch, heartbeat
from moldau.protocol.messages import metadata as our_metadata
from moldau.protocol.messages import produce as our_produce
from moldau.protocol.schema import Message

BATCH = bytes(range(256)) * 64  # 16 KiB
TOPIC_IDS = [uuid.UUID(int=number + 1) for number in range(100)]


def rows() -> list[Row]:
    out = []
    for name, version, ours, theirs, bars in cases():
        data = encode(ours, version)
        cls, their_cls = type(ours), type(theirs)
        assert bytes(theirs.encode(version=version)) == data, name
        encoding = compare(partial(encode, ours, version), partial(theirs.encode, version=version))
        decoding = compare(partial(decode, cls, version, data), partial(their_cls.decode, data, version=version))
        both = [sum(seconds) for seconds in zip(encoding, decoding, strict=True)]
        for what, (mine, other), bar in zip(
            ("encode", "decode", "both"), (encoding, decoding, both), bars, strict=True
        ):
            out.append(Row(f"{name}, {what}", mine * 1e6, other * 1e6, "µs", "kafka-python 3", bar))
    return [*out, start_up_row()]


def cases() -> Iterator[tuple[str, int, Message, Any, tuple[str, str, str]]]:
    yield "Metadata response v12, 100 × 12", 12, *metadata_response(), ("≤0.6", "≤0.85", "")
    yield (
        "Heartbeat request v4",
        4,
        heartbeat.HeartbeatRequest(group_id="group", generation_id=5, member_id="member-1", group_instance_id=None),
        consumer.HeartbeatRequest(
            version=4, group_id="group", generation_id=5, member_id="member-1", group_instance_id=None
        ),
        ("", "", "≤0.5"),
    )
    yield "Produce request v9, one 16 KiB batch", 9, *produce_request(), ("", "", "≤0.5")
    yield "Fetch request v12, 5 × 3", 12, *fetch_request(), ("", "", "≤0.5")
    yield "Fetch response v12, 5 × 3 of 1 KiB", 12, *fetch_response(), ("", "", "≤0.5")


def metadata_response() -> tuple[Message, Any]:
    ours = our_metadata.MetadataResponse(
        brokers=[our_metadata.MetadataResponseBroker(node_id=n, host=f"broker-{n}", port=9092) for n in range(3)],
        cluster_id="cluster",
        controller_id=1,
        topics=[
            our_metadata.MetadataResponseTopic(
                name=f"topic-{topic}",
                topic_id=TOPIC_IDS[topic].bytes,
                partitions=[
                    our_metadata.MetadataResponsePartition(
                        partition_index=p, leader_id=p % 3, leader_epoch=7, replica_nodes=[0, 1, 2], isr_nodes=[0, 1, 2]
                    )
                    for p in range(12)
                ],
            )
            for topic in range(100)
        ],
    )
    cls = metadata.MetadataResponse
    topic_cls = cls.fields["topics"].data_class
    partition_cls = topic_cls.fields["partitions"].data_class
    theirs = cls(
        version=12,
        throttle_time_ms=0,
        brokers=[
            cls.fields["brokers"].data_class(node_id=n, host=f"broker-{n}", port=9092, rack=None) for n in range(3)
        ],
        cluster_id="cluster",
        controller_id=1,
        topics=[
            topic_cls(
                error_code=0,
                name=f"topic-{topic}",
                topic_id=TOPIC_IDS[topic],
                is_internal=False,
                partitions=[
                    partition_cls(
                        error_code=0,
                        partition_index=p,
                        leader_id=p % 3,
                        leader_epoch=7,
                        replica_nodes=[0, 1, 2],
                        isr_nodes=[0, 1, 2],
                        offline_replicas=[],
                    )
                    for p in range(12)
                ],
                authorized_operations=None,
            )
            for topic in range(100)
        ],
    )
    return ours, theirs


def produce_request() -> tuple[Message, Any]:
    partition = our_produce.PartitionProduceData(index=0, records=BATCH)
    ours = our_produce.ProduceRequest(
        acks=-1, timeout_ms=30000, topic_data=[our_produce.TopicProduceData(name="topic-1", partition_data=[partition])]
    )
    cls = producer.ProduceRequest
    topic_cls = cls.fields["topic_data"].data_class
    their_partition = topic_cls.fields["partition_data"].data_class(index=0, records=BATCH)
    theirs = cls(
        version=9,
        transactional_id=None,
        acks=-1,
        timeout_ms=30000,
        topic_data=[topic_cls(name="topic-1", partition_data=[their_partition])],
    )
    return ours, theirs


def fetch_request() -> tuple[Message, Any]:
    ours = fetch.FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=52428800,
        topics=[
            fetch.FetchTopic(
                topic=f"topic-{topic}",
                partitions=[
                    fetch.FetchPartition(partition=p, fetch_offset=1000, partition_max_bytes=1048576) for p in range(3)
                ],
            )
            for topic in range(5)
        ],
    )
    cls = consumer.FetchRequest
    topic_cls = cls.fields["topics"].data_class
    partition_cls = topic_cls.fields["partitions"].data_class
    theirs = cls(
        version=12,
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=52428800,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[
            topic_cls(
                topic=f"topic-{topic}",
                partitions=[
                    partition_cls(
                        partition=p,
                        current_leader_epoch=-1,
                        fetch_offset=1000,
                        last_fetched_epoch=-1,
                        log_start_offset=-1,
                        partition_max_bytes=1048576,
                    )
                    for p in range(3)
                ],
            )
            for topic in range(5)
        ],
        forgotten_topics_data=[],
        rack_id="",
    )
    return ours, theirs


def fetch_response() -> tuple[Message, Any]:
    records = BATCH[:1024]
    ours = fetch.FetchResponse(
        session_id=3,
        responses=[
            fetch.FetchableTopicResponse(
                topic=f"topic-{topic}",
                partitions=[
                    fetch.PartitionData(
                        partition_index=p,
                        high_watermark=2000,
                        last_stable_offset=2000,
                        log_start_offset=0,
                        aborted_transactions=None,
                        records=records,
                    )
                    for p in range(3)
                ],
            )
            for topic in range(5)
        ],
    )
    cls = consumer.FetchResponse
    topic_cls = cls.fields["responses"].data_class
    partition_cls = topic_cls.fields["partitions"].data_class
    theirs = cls(
        version=12,
        throttle_time_ms=0,
        error_code=0,
        session_id=3,
        responses=[
            topic_cls(
                topic=f"topic-{topic}",
                partitions=[
                    partition_cls(
                        partition_index=p,
                        error_code=0,
                        high_watermark=2000,
                        last_stable_offset=2000,
                        log_start_offset=0,
                        aborted_transactions=None,
                        preferred_read_replica=-1,
                        records=records,
                    )
                    for p in range(3)
                ],
            )
            for topic in range(5)
        ],
    )
    return ours, theirs


def start_up_row() -> Row:
    """`import moldau` and one message encoded and decoded, beside a bare interpreter: each a process of its own."""
    ready = (
        "import moldau; from moldau.protocol.codec import encode, decode;"
        "from moldau.protocol.messages.heartbeat import HeartbeatRequest as H;"
        "assert decode(H, 4, encode(H(group_id='g'), 4)).group_id == 'g'"
    )
    ours, bare = (seconds * 1e3 for seconds in compare(lambda: _python(ready), lambda: _python("pass")))
    return Row("`import moldau` and a codec, over bare Python", ours - bare, 120.0, "ms", "the bar itself", "≤1")


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    print(table(rows()))
