"""The request log: off unless asked for, and then a line for each request with its phases."""

from __future__ import annotations

import logging
import re

import pytest

from tests.broker.requests_to_broker import Broker, records

LINE = re.compile(
    r"Completed request (\w+) v(\d+) from 127\.0\.0\.1:\d+, client 'moldau', \d+ bytes: "
    r"handled in ([\d.]+) ms, waited ([\d.]+) ms"
)


def test_every_request_is_logged_with_its_phases(
    broker: Broker, moldau_topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "moldau.request"):
        broker.produce(moldau_topic, records(b"x"))
        broker.fetch(moldau_topic, 1, max_wait_ms=100, min_bytes=1)
    found = {match[1]: match for match in map(LINE.fullmatch, caplog.messages) if match}
    assert found.keys() >= {"API_VERSIONS", "PRODUCE", "FETCH"}
    assert int(found["PRODUCE"][2]) == 12
    assert float(found["FETCH"][4]) > 80
    assert float(found["PRODUCE"][4]) < 80


def test_it_is_off_by_default(broker: Broker, moldau_topic: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        broker.produce(moldau_topic, records(b"x"))
    assert not [message for message in caplog.messages if message.startswith("Completed request")]


def test_the_content_of_requests_is_logged_at_the_lowest_level(
    broker: Broker, moldau_topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(5, "moldau.request"):
        broker.produce(moldau_topic, records(b"x"))
    assert any(message.startswith("ProduceRequest(transactional_id=None, acks=-1") for message in caplog.messages)
