"""Partitions over the threads of an old group, and its settings."""

from __future__ import annotations

import pytest

from moldau.base.errors import ConfigError
from moldau.clients.zookeeper_consumer.settings import read_settings
from moldau.clients.zookeeper_consumer.sharing import own_share, shared_out, thread_ids
from moldau.clients.zookeeper_consumer.znodes import decode_offset, decode_registration, encode_registration


def test_eleven_threads_on_ten_partitions_leave_the_last_idle() -> None:
    threads = thread_ids("c", 11)
    owners = shared_out(range(10), threads)
    assert len(set(owners.values())) == 10
    assert set(threads) - set(owners.values()) == {max(threads)}


def test_ranges_are_as_even_as_can_be_and_the_first_have_more() -> None:
    assert shared_out(range(5), ["b", "a"]) == {0: "a", 1: "a", 2: "a", 3: "b", 4: "b"}
    assert shared_out([], ["a"]) == shared_out([1], []) == {}


def test_all_consumers_together_have_everything_once() -> None:
    registrations = {"one": {"t": 2}, "two": {"t": 3, "u": 1}, "three": {"u": 2}}
    shares = [own_share("t", range(7), registrations, name) for name in registrations]
    assert sorted(partition for share in shares for partition in share) == list(range(7))
    assert shares[2] == {}
    assert set(shares[1].values()) == {0, 1, 2}


def test_registrations_and_offsets_are_as_kafka_wrote_them() -> None:
    data = encode_registration({"t": 2}, 17)
    assert data == b'{"version":1,"subscription":{"t":2},"pattern":"static","timestamp":"17"}'
    assert decode_registration("/p", data) == {"t": 2}
    assert [decode_offset(each) for each in (b"42", b" 7\n", b"", None, b"x")] == [42, 7, None, None, None]


def test_wrong_settings_are_all_named() -> None:
    with pytest.raises(ConfigError) as refused:
        read_settings({"group.id": "", "auto.offset.reset": "never", "bootstrap.servers": "x", "fetch.min.bytes": "y"})
    for name in ("zookeeper.connect", "group.id", "auto.offset.reset", "bootstrap.servers", "fetch.min.bytes"):
        assert name in str(refused.value)
    settings = read_settings({"zookeeper.connect": "z", "group.id": "g", "auto.commit.enable": "false"})
    assert (settings.auto_commit_enable, settings.reset_policy) == (False, "latest")
