"""A produce of one batch: the bytes are the codec's, and only the answer that is hoped for is read without it."""

from __future__ import annotations

import struct

import pytest

from moldau.clients.producer.single_produce import VERSIONS, SingleProduce
from moldau.clients.records import TopicPartition
from moldau.protocol.api import ApiKey
from moldau.protocol.codec import encode
from moldau.protocol.headers import encode_request_header, encode_response_header
from moldau.protocol.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

ORDERS = TopicPartition("orders-ü", 300)
CLIENT = "client-1"


def single(version: int) -> SingleProduce:
    return SingleProduce(ORDERS, version, -1, 30_000, CLIENT)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [0, 1, 126, 127, 16_382, 16_383, 100_000])
def test_the_bytes_of_a_request_are_those_of_the_codec(version: int, size: int) -> None:
    records = bytes(size)
    topic = TopicProduceData(name=ORDERS.topic, partition_data=[PartitionProduceData(index=300, records=records)])
    body = encode(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic]), version)
    expected = encode_request_header(ApiKey.PRODUCE, version, 77, CLIENT) + body
    assert b"".join(single(version).parts(77, records)) == struct.pack(">i", len(expected)) + expected


def answer(version: int, response: ProduceResponse, correlation_id: int = 77) -> memoryview:
    header = encode_response_header(ApiKey.PRODUCE, version, correlation_id)
    return memoryview(header + encode(response, version))


def response(name: str = ORDERS.topic, index: int = ORDERS.partition, **fields: object) -> ProduceResponse:
    told = PartitionProduceResponse(index=index)
    for field, value in fields.items():
        setattr(told, field, value)
    return ProduceResponse(responses=[TopicProduceResponse(name=name, partition_responses=[told])])


@pytest.mark.parametrize("version", VERSIONS)
def test_an_offset_and_a_time_are_read_from_the_answer(version: int) -> None:
    told = response(base_offset=1 << 40, log_append_time_ms=1_700_000_000_000, log_start_offset=5)
    assert single(version).written(answer(version, told), 77) == (1 << 40, 1_700_000_000_000)


@pytest.mark.parametrize(
    "told",
    [
        response(error_code=6),
        response(error_message="no"),
        response(index=299),
        response(name="orders-x"),
        response(current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=2)),
        ProduceResponse(),
        ProduceResponse(responses=response().responses, throttle_time_ms=5),
    ],
)
def test_any_other_answer_is_left_to_the_codec(told: ProduceResponse) -> None:
    assert single(11).written(answer(11, told), 77) is None


def test_an_answer_to_another_request_and_bytes_that_are_none_are_left_to_the_codec() -> None:
    assert single(11).written(answer(11, response(), correlation_id=78), 77) is None
    whole = answer(11, response())
    for size in range(len(whole)):
        assert single(11).written(whole[:size], 77) is None
