"""Produces that are like one before, but for their correlation id and their records: taken as they come, many at once.

A client that writes to one partition sends the same request again and again. Such requests are known by comparing
bytes, without decoding them, and all that one read has brought are one write to the log. It is set up for a connection
after two ordinary produces to the same partition in turn, and takes nothing but ordinary ones (`plain_produce`).
"""

from __future__ import annotations

import logging
import struct
from typing import TYPE_CHECKING

from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.plain_produce import TOPIC_IDS_VERSION, append_to, plain_log, template_of
from moldau.broker.request_log import logger as request_log
from moldau.protocol.api import ApiKey
from moldau.protocol.codec import encode
from moldau.protocol.headers import RequestHeader, encode_request_header
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.varint import finish_uvarint
from moldau.records.batch import HEADER_BYTES, Buffer
from moldau.records.record import NO_TIMESTAMP
from moldau.replication.replicas import LogPartition
from moldau.storage.log_directory import TopicPartition

if TYPE_CHECKING:
    from moldau.broker.node import Node

FLEXIBLE_VERSION = 9
RUN_MAX = 256  # requests for one write; more have to wait for the next
EMPTY_RECORDS = b"\1"
NO_TAGS = b"\0\0\0"
HEAD = struct.Struct(">iii")  # size, API key and version, correlation id

_unpack_head = HEAD.unpack_from
_HEAD_BYTES = HEAD.size
_TAGS_BYTES = len(NO_TAGS)
DEBUG = logging.DEBUG


def expect_repetition(node: Node, request: ProduceRequest, call: Call) -> None:
    """After an ordinary produce: if it is the second to its partition in turn, there will be more."""
    topic, session, version = request.topic_data[0], call.session, call.header.api_version
    name = topic.name if version < TOPIC_IDS_VERSION else node.metadata.topic_names[topic.topic_id]
    key = name, topic.partition_data[0].index
    if session.last_produced != key:
        session.last_produced = key
    elif version >= FLEXIBLE_VERSION:
        partition = node.replicas.partitions[key]
        call.answer.connection.shortcut = Repetition(node, partition, key, request, call.header)


class Repetition:
    """Takes the requests of a connection that are like one before, but for their correlation id and records.

    The bytes of such a request are: size, API key and version, correlation id, what is always the same, the length
    of the records, the records, and an empty section of tags for the partition, the topic and the request.
    """

    def __init__(
        self,
        node: Node,
        partition: LogPartition,
        key: TopicPartition,
        request: ProduceRequest,
        header: RequestHeader,
    ) -> None:
        topic = request.topic_data[0]
        nothing = PartitionProduceData(index=key[1], records=b"")
        empty = TopicProduceData(name=topic.name, topic_id=topic.topic_id, partition_data=[nothing])
        like = ProduceRequest(acks=request.acks, timeout_ms=request.timeout_ms, topic_data=[empty])
        version = header.api_version
        body = encode(like, version)
        assert body.endswith(EMPTY_RECORDS + NO_TAGS), "the records of a request come last"
        same = encode_request_header(ApiKey.PRODUCE, version, 0, header.client_id)[_HEAD_BYTES - 4 :]
        self._same = same + body[: -len(EMPTY_RECORDS + NO_TAGS)]
        self._records_at = _HEAD_BYTES + len(self._same)
        self._key_and_version = ApiKey.PRODUCE << 16 | version
        self._node = node
        self._partition = partition
        self._key = key
        before, after = self._around = template_of(version, *key, topic.topic_id).around
        self._answer_bytes = 4 + len(before) + 24 + len(after)
        self._pack = struct.Struct(f">ii{len(before)}sqqq{len(after)}s").pack

    def __call__(self, data: memoryview, start: int, filled: int, size_max: int) -> tuple[bytes, int, int]:
        """A `Shortcut`."""
        node, key, partition = self._node, self._key, self._partition
        log = plain_log(partition)
        if log is None or node.replicas.partitions.get(key) is not partition or request_log.isEnabledFor(DEBUG):
            return b"", 0, start
        run, correlation_ids, ends = self._find(data, start, filled, size_max)
        if not run:
            return b"", 0, start
        base_offset = log.log_end_offset
        try:
            noted = append_to(node, key, partition, log, run)
        except ApiError:
            return b"", 0, start  # the general way finds the directory offline, and tells the client
        pack, size, (before, after), first = self._pack, self._answer_bytes, self._around, log.log_start_offset
        answers = []
        for correlation_id, (_, _, last_offset, _) in zip(correlation_ids, noted, strict=False):
            answers.append(pack(size, correlation_id, before, base_offset, NO_TIMESTAMP, first, after))
            base_offset = last_offset + 1
        count = len(answers)
        return b"".join(answers), count, ends[count - 1] if count else start

    def _find(
        self, data: memoryview, start: int, filled: int, size_max: int
    ) -> tuple[list[Buffer], list[int], list[int]]:
        """The records, correlation id and end of each whole request that is like the one before."""
        same, records_at, key_and_version = self._same, self._records_at, self._key_and_version
        run: list[Buffer] = []
        correlation_ids: list[int] = []
        ends: list[int] = []
        shortest = records_at + HEADER_BYTES
        while filled - start > shortest and len(run) < RUN_MAX:
            size, found, correlation_id = _unpack_head(data, start)
            end, at = start + 4 + size, start + records_at
            if (
                not shortest < size <= size_max
                or end > filled
                or found != key_and_version
                or data[start + _HEAD_BYTES : at] != same
            ):
                break
            length = data[at]
            at += 1
            if length > 127:
                length, at = finish_uvarint(data, at, length)
            if length - 1 != end - _TAGS_BYTES - at or data[end - _TAGS_BYTES : end] != NO_TAGS:
                break
            run.append(data[at : end - _TAGS_BYTES])
            correlation_ids.append(correlation_id)
            ends.append(end)
            start = end
        return run, correlation_ids, ends
