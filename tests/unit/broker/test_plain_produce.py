"""The packed answer is the encoded one, byte for byte."""

from __future__ import annotations

import pytest

from moldau.broker.plain_produce import make_template
from moldau.protocol.api import ApiKey
from moldau.protocol.codec import encode
from moldau.protocol.headers import encode_response_header
from moldau.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse


@pytest.mark.parametrize("version", range(5, 14))
@pytest.mark.parametrize("name", ["t", "a-topic-with-a-name-of-some-length" * 5])
def test_a_packed_answer_is_what_encoding_gives(version: int, name: str) -> None:
    topic_id = b"0123456789abcdef" if version >= 13 else bytes(16)
    partition = PartitionProduceResponse(index=7, base_offset=1 << 40, log_append_time_ms=-1, log_start_offset=12)
    topic = TopicProduceResponse(name=name, topic_id=topic_id, partition_responses=[partition])
    encoded = encode_response_header(ApiKey.PRODUCE, version, 99) + encode(ProduceResponse(responses=[topic]), version)
    before, after = (template := make_template(version, name, 7, topic_id)).around
    assert template.pack(99, before, 1 << 40, -1, 12, after) == encoded
