"""The same requests to Apache Kafka 3.9.1 in ZooKeeper mode and to our broker: the answers are the same.

All fields are compared, but for what must differ: ids, addresses, and the sentences of documentation. Error messages
are compared where Kafka has one, unless ours says more (`OWN_WORDS`).
"""

from __future__ import annotations

import dataclasses
import re
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from moldau.protocol.api import ApiKey, response_class
from moldau.protocol.codec import decode, encode
from moldau.protocol.headers import decode_response_header, encode_request_header
from moldau.protocol.messages import alter_configs, describe_configs, incremental_alter_configs
from moldau.protocol.messages.alter_configs import AlterConfigsRequest
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest
from moldau.protocol.messages.describe_configs import DescribeConfigsRequest
from moldau.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest
from moldau.protocol.schema import Message
from moldau.testing.local_cluster import LocalCluster
from tests.compat.jvm_kafka import BROKER_ID, jvm_kafka

pytestmark = [pytest.mark.java, pytest.mark.slow]

TIMEOUT_MS = 20_000
TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)
ME = str(BROKER_ID)
NOT_COMPARED = {"host", "port", "cluster_id", "documentation", "is_default"}
OWN_WORDS = re.compile(
    "Duplicate brokers not allowed|SaslAuthenticate is not expected|Unsupported resource type|resource ConfigResource|"
    "must be an integer|Unexpected broker id"
)


class Wire:
    """A connection on which one request follows the answer to the last."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 30)

    def ask(self, request: Message, version: int) -> Message:
        frame = encode_request_header(request.KEY, version, 5, "compared") + encode(request, version)
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        data = self._read(*struct.unpack(">i", self._read(4)))
        cls = response_class(ApiKey(request.KEY))
        return decode(cls, version, data, decode_response_header(data, cls, version)[1])

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self._socket.recv(count - len(data))
            assert piece, "the connection was closed"
            data += piece
        return data

    def close(self) -> None:
        self._socket.close()


class Pair(NamedTuple):
    kafka: Wire
    ours: Wire


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder: Path = tmp_path_factory.mktemp("kafka")
    settings = {"broker.id": ME, "log.index.size.max.bytes": "1048576", "log.cleaner.backoff.ms": "100"}
    with jvm_kafka(folder, log_index_size_max_bytes=1048576) as kafka, LocalCluster(settings) as cluster:
        found = Pair(Wire(kafka.bootstrap), Wire(cluster.bootstrap_servers))
        yield found
        for wire in found:
            wire.close()


def topic(
    name: str,
    partitions: int = -1,
    factor: int = -1,
    replicas: dict[int, list[int]] | None = None,
    **configs: str | None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=key, broker_ids=value) for key, value in (replicas or {}).items()
        ],
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def create(*topics: CreatableTopic, timeout_ms: int = TIMEOUT_MS, validate: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate)


def expand(name: str, count: int, *assignments: list[int], given: bool = False) -> CreatePartitionsRequest:
    replicas = [CreatePartitionsAssignment(broker_ids=one) for one in assignments] if assignments or given else None
    asked = CreatePartitionsTopic(name=name, count=count, assignments=replicas)
    return CreatePartitionsRequest(topics=[asked], timeout_ms=TIMEOUT_MS)


def delete(*names: str | bytes, timeout_ms: int = TIMEOUT_MS) -> DeleteTopicsRequest:
    topics = [DeleteTopicState(name=one) if isinstance(one, str) else DeleteTopicState(topic_id=one) for one in names]
    return DeleteTopicsRequest(topics=topics, timeout_ms=timeout_ms)


def metadata(*names: str | None, create_them: bool = False, **flags: bool) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create_them, **flags)


def describe(kind: int, name: str, *keys: str, synonyms: bool = True) -> DescribeConfigsRequest:
    resource = describe_configs.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
    )
    return DescribeConfigsRequest(resources=[resource], include_synonyms=synonyms)


def replace(kind: int, name: str, *entries: tuple[str, str | None]) -> AlterConfigsRequest:
    configs = [alter_configs.AlterableConfig(name=key, value=value) for key, value in entries]
    resource = alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    return AlterConfigsRequest(resources=[resource])


def change(kind: int, name: str, *operations: tuple[str, int, str | None]) -> IncrementalAlterConfigsRequest:
    configs = [
        incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
        for key, operation, value in operations
    ]
    resource = incremental_alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    return IncrementalAlterConfigsRequest(resources=[resource])


def outline(value: Any) -> Any:
    """An answer as plain data, without what must differ; the order of what is listed does not matter."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.name not in NOT_COMPARED]
        return {name: outline(getattr(value, name)) for name in names}
    if isinstance(value, list):
        return sorted(map(outline, value), key=repr)
    if isinstance(value, bytes):
        return "id" if any(value) else ""
    return value


def with_comparable_messages(kafka: Any, ours: Any) -> tuple[Any, Any]:
    """Both answers, with our message left out where it is not Kafka's to compare."""
    if isinstance(kafka, list) and isinstance(ours, list) and len(kafka) == len(ours):
        pairs = [with_comparable_messages(*one) for one in zip(kafka, ours, strict=True)]
        return [one for one, _ in pairs], [other for _, other in pairs]
    if not (isinstance(kafka, dict) and isinstance(ours, dict)):
        return kafka, ours
    left, right = {}, {}
    for name in kafka:
        one, other = kafka[name], ours.get(name)
        if name == "error_message":
            one, other = re.sub(r"(?:Hash)?Set\((.*)\)", r"\1", one or ""), other or ""
            if not one or OWN_WORDS.search(other):
                one = other = ""
        left[name], right[name] = with_comparable_messages(one, other)
    return left, right


def by_name(answer: Any) -> Any:
    """The items of an answer in the order of their names, whatever else differs."""
    if isinstance(answer, dict):
        return {name: by_name(value) for name, value in answer.items()}
    if isinstance(answer, list):
        return sorted(map(by_name, answer), key=lambda item: repr(list(_names(item))))
    return answer


def _names(item: Any) -> Iterator[object]:
    if isinstance(item, dict):
        yield from (item.get(name) for name in ("resource_type", "resource_name", "name", "value", "source"))
    else:
        yield item


def compare(pair: Pair, *requests: tuple[Message, int]) -> None:
    for request, version in requests:
        kafka, ours = (by_name(outline(wire.ask(request, version))) for wire in pair)
        kafka, ours = with_comparable_messages(kafka, ours)
        assert ours == kafka, f"{request} version {version}"


def test_topics_from_creation_to_deletion(pair: Pair) -> None:
    everything = [(MetadataRequest(topics=[] if version == 0 else None), version) for version in range(13)]
    compare(pair, *everything)
    compare(
        pair,
        (create(topic("a", 2, 1, retention_ms="5000")), 7),
        (create(topic("a", 2, 1)), 7),
        (create(topic("v", 3, 1), validate=True), 5),
        (create(topic("late", 1, 1), timeout_ms=0), 7),
        (create(topic("c.d", 1, 1)), 6),
        (create(topic("c_d", 1, 1)), 7),
        (create(topic("twice", 1, 1), topic("twice", 1, 1)), 7),
    )
    asked = {"include_topic_authorized_operations": True}
    compare(pair, *((metadata("a", create_them=True), version) for version in range(13)))
    compare(pair, *((metadata("a", "a", "none", "b ad", **asked), version) for version in range(8, 13)))
    compare(
        pair,
        (metadata("a", include_cluster_authorized_operations=True), 10),
        (metadata(None), 10),
        (MetadataRequest(topics=[MetadataRequestTopic(name="a", topic_id=b"x" * 16)]), 11),
        (MetadataRequest(topics=[MetadataRequestTopic(name="a", topic_id=b"x" * 16)]), 12),
        (metadata("made", "not ok", create_them=True), 12),
        (expand("a", 4), 3),
        (expand("a", 4), 3),
        (expand("a", 1), 3),
        (expand("none", 4), 3),
        (expand("a", 5, given=True), 2),
        (expand("a", 5, [9]), 1),
        (expand("a", 5, [BROKER_ID, BROKER_ID]), 3),
        (expand("a", 5, []), 3),
        (delete(b"q" * 16, "none"), 6),
        (DeleteTopicsRequest(topics=[DeleteTopicState(name="a", topic_id=b"q" * 16)], timeout_ms=1), 6),
        (delete("a", "c.d"), 6),
        (DeleteTopicsRequest(topic_names=["none", "made"], timeout_ms=TIMEOUT_MS), 1),
        (DeleteTopicsRequest(topic_names=["late"], timeout_ms=0), 5),
    )


@pytest.mark.parametrize(
    "wrong",
    [
        topic("w", 0, 1),
        topic("w", 1, 0),
        topic("w", 1, 9),
        topic("", 1, 1),
        topic("..", 1, 1),
        topic("a b", 1, 1),
        topic("x" * 250, 1, 1),
        topic("w", 1, -1, {0: [BROKER_ID]}),
        topic("w", replicas={0: [BROKER_ID], 2: [BROKER_ID]}),
        topic("w", replicas={0: [BROKER_ID], 1: [BROKER_ID, 2]}),
        topic("w", replicas={0: [BROKER_ID, BROKER_ID]}),
        topic("w", 1, 1, no_such="1"),
        topic("w", 1, 1, retention_ms="x"),
        topic("w", 1, 1, retention_ms=None),
        topic("w", 1, 1, cleanup_policy="zap"),
        topic("w", 1, 1, min_compaction_lag_ms="9", max_compaction_lag_ms="5"),
        topic("__cluster_metadata", 1, 1),
    ],
    ids=lambda wrong: repr(wrong)[-60:],
)
def test_topics_that_make_no_sense(pair: Pair, wrong: CreatableTopic) -> None:
    compare(pair, (create(wrong), 7), (create(wrong, validate=True), 7), (create(wrong), 0))


def test_settings_of_topics_and_brokers(pair: Pair) -> None:
    keys = ("retention.ms", "cleanup.policy", "segment.bytes", "max.message.bytes", "min.insync.replicas", "no.such")
    compare(pair, (create(topic("s", 1, 1, retention_ms="5000")), 7))
    compare(pair, *((describe(TOPIC, "s", *keys, synonyms=version > 0), version) for version in range(5)))
    compare(
        pair,
        (describe(TOPIC, "s"), 4),
        (change(TOPIC, "s", ("cleanup.policy", APPEND, "compact")), 1),
        (change(TOPIC, "s", ("cleanup.policy", SUBTRACT, "delete")), 0),
        (describe(TOPIC, "s", "cleanup.policy"), 4),
        (replace(TOPIC, "s", ("segment.ms", "60000")), 2),
        (describe(TOPIC, "s", *keys, "segment.ms"), 4),
        (change(TOPIC, "s", ("segment.ms", DELETE, None)), 1),
        (describe(TOPIC, "s", "segment.ms"), 4),
        (describe(BROKER, ME, "broker.id", "log.retention.ms", "log.retention.hours", "ssl.key.password"), 4),
        (describe(BROKER, ""), 4),
        (delete("s"), 6),
    )


@pytest.mark.parametrize(
    "wrong",
    [
        describe(TOPIC, "none"),
        describe(TOPIC, "b ad"),
        describe(BROKER, "7"),
        describe(BROKER, "x"),
        describe(LOGGER, ""),
        describe(LOGGER, "9"),
        describe(99, "x"),
    ],
    ids=lambda wrong: repr(wrong.resources[0])[-70:],
)
def test_what_cannot_be_described(pair: Pair, wrong: DescribeConfigsRequest) -> None:
    compare(pair, (wrong, 4))


@pytest.mark.parametrize(
    ("kind", "name", "entries"),
    [
        (TOPIC, "none", [("retention.ms", "1")]),
        (TOPIC, "", []),
        (BROKER, "7", []),
        (BROKER, "x", []),
        (BROKER, ME, [("broker.id", "5")]),
        (BROKER, ME, [("message.max.bytes", "x")]),
        (BROKER, ME, [("ssl.keystore.location", "x")]),
        (BROKER, "", [("advertised.listeners", "A://x:1")]),
        (BROKER, "", [("message.max.bytes", None)]),
        (BROKER, "", [("message.max.bytes", "5"), ("message.max.bytes", "5")]),
        (99, "x", []),
    ],
)
def test_settings_that_make_no_sense(pair: Pair, kind: int, name: str, entries: list[tuple[str, str | None]]) -> None:
    operations = [(key, SET, value) for key, value in entries]
    compare(pair, (replace(kind, name, *entries), 2), (change(kind, name, *operations), 1))


def test_log_levels_that_make_no_sense(pair: Pair) -> None:
    compare(
        pair,
        (change(LOGGER, ME, ("no.such.logger", SET, "INFO")), 1),
        (change(LOGGER, ME, ("root", DELETE, None)), 1),
        (change(LOGGER, ME, ("root", SET, "LOUD")), 1),
        (change(LOGGER, ME, ("root", APPEND, "INFO")), 1),
        (change(LOGGER, "4", ("root", SET, "INFO")), 1),
        (replace(LOGGER, ME), 2),
    )


def test_the_cluster_and_what_needs_no_authentication(pair: Pair) -> None:
    compare(
        pair,
        (DescribeClusterRequest(include_cluster_authorized_operations=True), 0),
        (DescribeClusterRequest(), 1),
        (DescribeClusterRequest(endpoint_type=2), 1),
        (DescribeClusterRequest(endpoint_type=9), 1),
        (SaslHandshakeRequest(mechanism="PLAIN"), 0),
        (SaslHandshakeRequest(mechanism="PLAIN"), 1),
        (SaslAuthenticateRequest(auth_bytes=b"x"), 0),
        (SaslAuthenticateRequest(auth_bytes=b"x"), 2),
    )
