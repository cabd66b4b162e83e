"""Hashes and partitions, against numbers of Java and against other clients."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_python_murmur2

from moldau.base.hashing import coordinator_partition, java_hash, key_partition, murmur2


def signed(value: int) -> int:
    return (value & 0xFFFFFFFF ^ 0x80000000) - 0x80000000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("test-group", 627841412),
        ("my_tx_id", -462871453),
        ("polygenelubricants", -(2**31)),
        ("é", 0xE9),
        ("😀", 0xD83D * 31 + 0xDE00),
        ("\ud800", 0xD800),
    ],
)
def test_java_hash_is_javas_hash_code(text: str, expected: int) -> None:
    assert java_hash(text) == expected


@given(st.text(st.characters(exclude_categories=[])))
def test_java_hash_is_the_polynomial_over_utf_16(text: str) -> None:
    data = text.encode("utf-16-be", "surrogatepass")
    units = [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
    assert java_hash(text) == signed(sum(unit * 31**power for power, unit in enumerate(reversed(units))))


@pytest.mark.parametrize(
    ("group_or_transactional_id", "partition"),
    [
        ("console-consumer-90277", 26),
        ("console-consumer-49366", 19),
        ("test-group", 12),
        ("my_tx_id", 3),  # its hash is negative: dropping the sign bit would give 45
        ("polygenelubricants", 0),  # its hash is the smallest int
    ],
)
def test_coordinators_are_found_where_kafka_puts_them(group_or_transactional_id: str, partition: int) -> None:
    assert coordinator_partition(group_or_transactional_id, 50) == partition


MURMUR2 = [
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
]


@pytest.mark.parametrize(("data", "expected"), MURMUR2)
def test_murmur2_is_kafkas(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected
    assert key_partition(data, 12) == (expected & 0x7FFFFFFF) % 12


@given(st.binary(max_size=2000))
def test_murmur2_agrees_with_another_client(data: bytes) -> None:
    assert murmur2(data) == signed(kafka_python_murmur2(data))


def test_key_partition_agrees_with_librdkafka() -> None:
    placed = dict[bytes, int]()
    keys = [f"{number}-order".encode() * (1 + number % 5) for number in range(200)]
    # Its in-memory cluster, whose topics have four partitions.
    producer = Producer({"test.mock.num.brokers": 1, "partitioner": "murmur2", "log_level": 0})
    for key in keys:
        producer.produce(
            "orders", key=key, on_delivery=lambda _, message: placed.update({message.key(): message.partition()})
        )
    assert producer.flush(10) == 0
    assert placed == {key: key_partition(key, 4) for key in keys}
