"""Kafka's znodes: the JSON as Kafka writes it, and what happens with content it never wrote."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.base.clock import VirtualClock
from moldau.base.ids import uuid_from_text
from moldau.cluster import bootstrap
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.errors import MalformedZnode
from moldau.cluster.persistence import MemoryPersistence
from moldau.cluster.znodes import layout
from moldau.cluster.znodes.brokers import BrokerRegistration, Endpoint, FeatureVersions
from moldau.cluster.znodes.cluster_id import decode_cluster_id, encode_cluster_id
from moldau.cluster.znodes.configs import decode_config, decode_config_change, encode_config, encode_config_change
from moldau.cluster.znodes.controller import (
    ControllerRegistration,
    decode_controller_epoch,
    encode_controller_epoch,
)
from moldau.cluster.znodes.features import FeatureStatus, FinalizedFeatures
from moldau.cluster.znodes.log_dir_events import decode_log_dir_event, encode_log_dir_event
from moldau.cluster.znodes.partition_lists import (
    decode_partitions,
    decode_reassignment,
    encode_partitions,
    encode_reassignment,
)
from moldau.cluster.znodes.partition_state import PartitionState
from moldau.cluster.znodes.producer_ids import ProducerIdBlock
from moldau.cluster.znodes.topics import TopicAssignment

TOPIC_ID = uuid_from_text("vZkT5cSGTkSoOqCyYKpPWA")
PLAIN = Endpoint("PLAINTEXT", "h", 9092, "PLAINTEXT")
SECURE = Endpoint("OUT", "::1", 9093, "SASL_SSL")

EXAMPLES: list[tuple[object, bytes, Callable[[bytes | None], object]]] = [
    (
        BrokerRegistration((PLAIN, SECURE), 1700, "r1", features={"f": FeatureVersions(1, 2)}),
        b'{"version":5,"host":"h","port":9092,"jmx_port":-1,"timestamp":"1700",'
        b'"endpoints":["PLAINTEXT://h:9092","OUT://[::1]:9093"],'
        b'"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","OUT":"SASL_SSL"},'
        b'"rack":"r1","features":{"f":{"min_version":1,"max_version":2}}}',
        lambda data: BrokerRegistration.decode(1, data),
    ),
    (
        BrokerRegistration((SECURE,), 1700),
        b'{"version":5,"host":null,"port":-1,"jmx_port":-1,"timestamp":"1700","endpoints":["OUT://[::1]:9093"],'
        b'"listener_security_protocol_map":{"OUT":"SASL_SSL"},"features":{}}',
        lambda data: BrokerRegistration.decode(1, data),
    ),
    (
        TopicAssignment(TOPIC_ID, {0: (1, 2), 10: (2, 3)}, {0: (1,)}, {0: (2,)}),
        b'{"version":3,"topic_id":"vZkT5cSGTkSoOqCyYKpPWA","partitions":{"0":[1,2],"10":[2,3]},'
        b'"adding_replicas":{"0":[1]},"removing_replicas":{"0":[2]}}',
        lambda data: TopicAssignment.decode("t", data),
    ),
    (
        PartitionState(5, -1, 7, (1, 2)),
        b'{"version":1,"controller_epoch":5,"leader":-1,"leader_epoch":7,"isr":[1,2]}',
        lambda data: PartitionState.decode("t", 0, data),
    ),
    (
        PartitionState(5, 1, 7, (1,), is_recovering=True),
        b'{"version":1,"controller_epoch":5,"leader":1,"leader_epoch":7,"isr":[1],"leader_recovery_state":1}',
        lambda data: PartitionState.decode("t", 0, data),
    ),
    (
        ControllerRegistration(3, 1700),
        b'{"version":2,"brokerid":3,"timestamp":"1700","kraftControllerEpoch":-1}',
        ControllerRegistration.decode,
    ),
    (
        ProducerIdBlock(1, 0, 999),
        b'{"version":1,"broker":1,"block_start":"0","block_end":"999"}',
        ProducerIdBlock.decode,
    ),
    (FinalizedFeatures(), b'{"version":2,"status":1,"features":{}}', FinalizedFeatures.decode),
]


@pytest.mark.parametrize(("value", "data", "decode"), EXAMPLES)
def test_a_znode_is_written_as_kafka_writes_it_and_read_back(
    value: BrokerRegistration | TopicAssignment, data: bytes, decode: Callable[[bytes | None], object]
) -> None:
    assert value.encode() == data
    assert decode(data) == value


@pytest.mark.parametrize(("_value", "data", "decode"), EXAMPLES)
@pytest.mark.parametrize("hostile", [b"{", b"[]", b'"x"', b"\xff", b"{}", b'{"version":"5"}', b"[" * 100_000, b"NaN"])
def test_foreign_content_is_refused_with_its_path(
    _value: object, data: bytes, decode: Callable[[bytes | None], object], hostile: bytes
) -> None:
    with pytest.raises(MalformedZnode, match=r"^/"):
        decode(hostile)
    with pytest.raises(MalformedZnode, match=r"^/"):
        decode(data.replace(b'"version":', b'"version":-'))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda v: st.lists(v, max_size=3)))
def test_a_field_of_the_wrong_type_is_malformed_or_ignored(value: object) -> None:
    for _value, data, decode in EXAMPLES:
        content = json.loads(data)
        for name in content:
            changed = json.dumps({**content, name: value}).encode()
            with suppress(MalformedZnode):
                decode(changed)


def test_the_small_contents() -> None:
    assert encode_cluster_id("abc") == b'{"version":"1","id":"abc"}'
    assert decode_cluster_id(b'{"version":"1","id":"abc"}') == "abc"
    assert encode_controller_epoch(5) == b"5"
    assert decode_controller_epoch(b"5") == 5
    for hostile in (None, b"", b"-1", b"five", b"9" * 50):
        with pytest.raises(MalformedZnode, match="/controller_epoch"):
            decode_controller_epoch(hostile)
    assert encode_config({"retention.ms": "1"}) == b'{"version":1,"config":{"retention.ms":"1"}}'
    assert decode_config("/config/topics/t", b'{"version":1,"config":{"a":"b"}}') == {"a": "b"}
    assert decode_config("/config/users/u", None) == {}
    with pytest.raises(MalformedZnode, match="/config/topics/t: config: a is 1, expected a string"):
        decode_config("/config/topics/t", b'{"version":1,"config":{"a":1}}')
    assert encode_config_change("topics/t33") == b'{"version":2,"entity_path":"topics/t33"}'
    assert decode_config_change("/x", b'{"version":2,"entity_path":"topics/t33"}') == "topics/t33"
    assert decode_config_change("/x", b'{"version":1,"entity_type":"topics","entity_name":"t"}') == "topics/t"
    assert encode_log_dir_event(3) == b'{"version":1,"broker":3,"event":1}'
    assert decode_log_dir_event("/x", b'{"version":1,"broker":3,"event":1}') == 3


def test_lists_of_partitions() -> None:
    data = b'{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"u","partition":2}]}'
    assert encode_partitions([("t", 0), ("u", 2)]) == data
    assert decode_partitions("/x", data) == [("t", 0), ("u", 2)]
    moved = b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}'
    assert encode_reassignment({("t", 0): (1, 2)}) == moved
    assert decode_reassignment(moved) == {("t", 0): (1, 2)}
    with pytest.raises(MalformedZnode, match=r"/admin/reassign_partitions: partitions\[0\]: replicas is missing"):
        decode_reassignment(data)


def test_older_versions_are_read() -> None:
    old_broker = b'{"jmx_port":-1,"timestamp":"1","host":"h","version":1,"port":9092}'
    assert BrokerRegistration.decode(1, old_broker).endpoints == (PLAIN,)
    second = b'{"version":3,"host":"h","port":9092,"timestamp":"1","endpoints":["PLAINTEXT://h:9092"],"rack":"r"}'
    assert BrokerRegistration.decode(1, second) == BrokerRegistration((PLAIN,), 1, "r")
    assert TopicAssignment.decode("t", b'{"version":1,"partitions":{"0":[1]}}') == TopicAssignment(None, {0: (1,)})
    assert ControllerRegistration.decode(b'{"version":1,"brokerid":0,"timestamp":"1"}') == ControllerRegistration(0, 1)
    features = b'{"version":1,"status":0,"features":{"f":{"min_version_level":1,"max_version_level":4}}}'
    assert FinalizedFeatures.decode(features) == FinalizedFeatures(FeatureStatus.DISABLED, {"f": 4})
    assert ProducerIdBlock.decode(None) is None


def test_names_of_entities_are_encoded_as_java_does() -> None:
    for name, encoded in (("a b/=*+,", "a%20b%2F%3D%2A%2B%2C"), ("<default>", "%3Cdefault%3E"), ("ž~", "%C5%BE%7E")):
        assert layout.encode_entity_name(name) == encoded
        assert layout.decode_entity_name(encoded) == name
    assert layout.sequence_of("/config/changes/config_change_0000000012") == 12


def test_a_broker_that_starts_makes_the_paths_and_gets_ids() -> None:
    async def main() -> None:
        store = await EmbeddedStore.open(MemoryPersistence(), VirtualClock())
        first, second = await store.open_session(6000), await store.open_session(6000)
        await asyncio.gather(*(bootstrap.create_paths(session) for session in (first, second)))
        for path in layout.PERSISTENT_PATHS:
            assert (await first.get(path)).data is None
        ids = [bootstrap.find_or_create_cluster_id(first, "one"), bootstrap.find_or_create_cluster_id(second, "two")]
        assert len(set(await asyncio.gather(*ids))) == 1
        numbers = await asyncio.gather(*(bootstrap.generate_broker_id(session) for session in (first, second, first)))
        assert sorted(numbers) == [1001, 1002, 1003]

    asyncio.run(main())
