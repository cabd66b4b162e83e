"""The produce that nearly all are: one ordinary batch for one partition, acknowledged as soon as it is written.

A broker of small requests spends its time here, so this is the whole of it written out: the log's own short way
(`storage.plain_append`), the high watermark, and an answer that is packed and not made of message objects. It decides
nothing of its own. Whatever is not exactly as expected is left untouched to the general way, which also knows what to
say about it: other replicas, transactions, `flush.messages`, old formats, refusals.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from moldau.broker.call import Call
from moldau.broker.produced import ATTRIBUTES_LOW_BYTE_AT, CODEC_MASK, V2_ONLY_VERSION, ZSTD, ZSTD_VERSION
from moldau.protocol.api import ApiKey
from moldau.protocol.codec import encode
from moldau.protocol.headers import encode_response_header
from moldau.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from moldau.records.batch import HEADER_BYTES, Buffer
from moldau.records.record import NO_TIMESTAMP
from moldau.replication.replicas import LogPartition
from moldau.storage.log import Log
from moldau.storage.log_directory import TopicPartition
from moldau.storage.log_settings import INT64_MAX
from moldau.storage.plain_append import append_plain
from moldau.storage.segment import NotedBatch

if TYPE_CHECKING:
    from moldau.broker.node import Node

TOPIC_IDS_VERSION = 13
ACKNOWLEDGED = (1, -1)
TEMPLATES_MAX = 20_000
# Found again in the encoded answer: base offset, log append time and log start offset stand side by side.
MARKS = (0x5EED0FF5E7000001, 0x5EED0FF5E7000002, 0x5EED0FF5E7000003)
LOG_START_VERSION = 5


def produce_plain(node: Node, request: ProduceRequest, call: Call) -> bool:
    """Append and answer, if it is an ordinary request; if not, nothing has happened."""
    topics, version = request.topic_data, call.header.api_version
    if (
        len(topics) != 1
        or version < LOG_START_VERSION
        or request.transactional_id is not None
        or request.acks not in ACKNOWLEDGED
    ):
        return False
    topic = topics[0]
    partitions = topic.partition_data
    if len(partitions) != 1:
        return False
    index, records = partitions[0].index, partitions[0].records
    name = topic.name if version < TOPIC_IDS_VERSION else node.metadata.topic_names.get(topic.topic_id, "")
    key = name, index
    partition = node.replicas.partitions.get(key)
    if (
        partition is None
        or (log := plain_log(partition)) is None
        or name in node.internal_topics
        or records is None
        or len(records) < HEADER_BYTES
        or (version < ZSTD_VERSION and records[ATTRIBUTES_LOW_BYTE_AT] & CODEC_MASK == ZSTD)
    ):
        return False
    base_offset = log.log_end_offset
    if not append_to(node, key, partition, log, (records,)):
        return False
    template = template_of(version, name, index, topic.topic_id)
    before, after = template.around
    correlation_id = call.header.correlation_id
    answer = template.pack(correlation_id, before, base_offset, NO_TIMESTAMP, log.log_start_offset, after)
    call.respond_packed(answer)
    return True


def plain_log(partition: LogPartition) -> Log | None:
    """The log, if what is written to it is acknowledged at once."""
    log = partition.log
    if (
        log is None
        or partition.leader != partition.broker_id
        or partition.remote_replicas
        or log.settings.flush_messages != INT64_MAX
    ):
        return None
    return log


def append_to(
    node: Node, key: TopicPartition, partition: LogPartition, log: Log, run: Sequence[Buffer]
) -> list[NotedBatch]:
    """Append the first batches that are ordinary ones; where they are."""
    try:
        noted = append_plain(log, run, partition.leader_epoch, log.validation.plain_length_max)
    except OSError as error:
        raise node.directories.failed(log, error) from error
    if noted and log.advance_high_watermark(log.log_end_offset):
        node.replicas.high_watermark_moved(key)
    return noted


class Template(NamedTuple):
    """The answer to a version for a partition, with places for the correlation id and the three offsets."""

    pack: Callable[..., bytes]
    around: tuple[bytes, bytes]


_templates: dict[tuple[int, str, int, bytes], Template] = {}


def template_of(version: int, name: str, index: int, topic_id: bytes) -> Template:
    return _templates.get((version, name, index, topic_id)) or make_template(version, name, index, topic_id)


def make_template(version: int, name: str, index: int, topic_id: bytes) -> Template:
    assert version >= LOG_START_VERSION >= V2_ONLY_VERSION
    base_offset, log_append_time_ms, log_start_offset = MARKS
    partition = PartitionProduceResponse(
        index=index,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
    )
    topic = TopicProduceResponse(name=name, topic_id=topic_id, partition_responses=[partition])
    header = encode_response_header(ApiKey.PRODUCE, version, 0)
    answer = header + encode(ProduceResponse(responses=[topic]), version)
    before, found, after = answer[4:].partition(struct.pack(">qqq", *MARKS))
    assert found, "the offsets of an answer stand side by side"
    if len(_templates) >= TEMPLATES_MAX:
        _templates.clear()
    template = Template(struct.Struct(f">i{len(before)}sqqq{len(after)}s").pack, (before, after))
    _templates[version, name, index, topic_id] = template
    return template
